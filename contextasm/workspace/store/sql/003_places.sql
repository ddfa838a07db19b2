-- Patterns of the repositories in which a memory holds, and the lines of files that it rests on.
ALTER TABLE ctxasm.memory ADD COLUMN repositories text[] NOT NULL DEFAULT '{}' CHECK (ctxasm.are_values(repositories));
ALTER TABLE ctxasm.memory ALTER COLUMN repositories SET STATISTICS 0;
ALTER TABLE ctxasm.memory ADD COLUMN cites text[] NOT NULL DEFAULT '{}' CHECK (ctxasm.are_values(cites));
ALTER TABLE ctxasm.memory ALTER COLUMN cites SET STATISTICS 0;
ALTER TABLE ctxasm.memory DROP CONSTRAINT memory_size;
ALTER TABLE ctxasm.memory ADD CONSTRAINT memory_size CHECK (
    octet_length(replace(text, E'\n', E'\n  '))
    + octet_length(array_to_string(tags || files || supersedes || repositories || cites, ','))
    + octet_length(id || type || status || key || tier || dedup || superseded_by || writer) <= 120000
);

-- As before; who verifies a memory renews its cites.
CREATE OR REPLACE FUNCTION ctxasm.sign() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
DECLARE
    month text;
    place record;
    by_others text[] := '{importance,accessed,status,superseded_by,verified,type,key,tags,supersedes,cites,changed,scope}';
BEGIN
    IF TG_OP = 'INSERT' THEN
        NEW.role := current_user;
        NEW.id := (SELECT m.number FROM ctxasm.member m WHERE m.role = current_user AND m.owner = NEW.owner)
            || CASE WHEN NEW.private THEN 'p-' ELSE '-' END || NEW.id;
        month := to_char(coalesce(NEW.created, current_date), 'YYYY-MM');
        place := ctxasm.find_place(
            NEW.owner || CASE WHEN NEW.private THEN '/' || NEW.role::text ELSE '' END, NEW.role,
            month || CASE WHEN NEW.private THEN '.private.' ELSE '.' END, octet_length(NEW.text), NEW.page
        );
        NEW.page := place.page;
        NEW.slot := place.slot;
        NEW.filled := place.filled;
    ELSIF (NEW.seq, NEW.owner, NEW.id, NEW.role, NEW.writer, NEW.page, NEW.slot, NEW.filled, NEW.private)
        IS DISTINCT FROM (OLD.seq, OLD.owner, OLD.id, OLD.role, OLD.writer, OLD.page, OLD.slot, OLD.filled, OLD.private) THEN
        RAISE EXCEPTION 'owner, id, role, writer, page and private of a memory can not be changed'
            USING ERRCODE = 'insufficient_privilege';
    ELSIF NEW.text <> OLD.text AND OLD.role <> current_user THEN
        RAISE EXCEPTION 'the text of a memory is changed by the role that stored it' USING ERRCODE = 'insufficient_privilege';
    ELSIF OLD.role <> current_user AND (
        to_jsonb(NEW) - by_others IS DISTINCT FROM to_jsonb(OLD) - by_others
        OR NEW.importance < OLD.importance
        OR (OLD.accessed IS NOT NULL AND (NEW.accessed < OLD.accessed OR NEW.accessed IS NULL))
        OR (OLD.verified IS NOT NULL AND (NEW.verified < OLD.verified OR NEW.verified IS NULL))
        OR (NEW.type <> OLD.type AND OLD.type <> 'note')
        OR (NEW.key <> OLD.key AND OLD.key <> '')
        OR NOT NEW.tags @> OLD.tags
        OR NOT NEW.supersedes @> OLD.supersedes
    ) THEN
        RAISE EXCEPTION 'other roles than the one that stored a memory reinforce it, verify it or set its status'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    NEW.changed := pg_current_xact_id();
    RETURN NEW;
END
$$;

-- As before, with the new columns.
CREATE OR REPLACE FUNCTION ctxasm.admit() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    member name;
    rights text;
BEGIN
    FOREACH member IN ARRAY ARRAY[OLD.role, NEW.role] LOOP
        CONTINUE WHEN member IS NULL OR member = current_user;
        IF EXISTS (SELECT FROM ctxasm.member m WHERE m.role = member) THEN
            rights := 'GRANT %s ON ctxasm.%s TO %I';
        ELSIF EXISTS (SELECT FROM pg_roles r WHERE r.rolname = member) THEN
            rights := 'REVOKE %s ON ctxasm.%s FROM %I';
        ELSE
            CONTINUE;
        END IF;
        EXECUTE format(rights, 'SELECT', 'salt', member);
        EXECUTE format(rights, 'SELECT', 'memory', member);
        EXECUTE format(rights, 'INSERT (owner, id, text, type, importance, created, accessed, status, confidence, key, tier,'
            ' dedup, tags, files, private, pin, supersedes, valid_from, expires, verified, repositories, cites,'
            ' superseded_by, writer, page)', 'memory', member);
        EXECUTE format(rights, 'UPDATE (text, type, importance, created, accessed, status, confidence, key, tier, dedup,'
            ' tags, files, pin, supersedes, valid_from, expires, verified, repositories, cites,'
            ' superseded_by, deleted)', 'memory', member);
    END LOOP;
    RETURN NULL;
END
$$;

-- Admits the members again: they get the rights on the new columns.
UPDATE ctxasm.member SET role = role;
