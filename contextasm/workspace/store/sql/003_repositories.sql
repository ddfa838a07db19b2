-- Patterns of the repositories in which a memory holds.
ALTER TABLE ctxasm.memory ADD COLUMN repositories text[] NOT NULL DEFAULT '{}' CHECK (ctxasm.are_values(repositories));
ALTER TABLE ctxasm.memory ALTER COLUMN repositories SET STATISTICS 0;
ALTER TABLE ctxasm.memory DROP CONSTRAINT memory_size;
ALTER TABLE ctxasm.memory ADD CONSTRAINT memory_size CHECK (
    octet_length(replace(text, E'\n', E'\n  ')) + octet_length(array_to_string(tags || files || supersedes || repositories, ','))
    + octet_length(id || type || status || key || tier || dedup || superseded_by || writer) <= 120000
);

-- As before, with the new column.
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
            ' dedup, tags, files, private, pin, supersedes, valid_from, expires, verified, repositories,'
            ' superseded_by, writer, page)', 'memory', member);
        EXECUTE format(rights, 'UPDATE (text, type, importance, created, accessed, status, confidence, key, tier, dedup,'
            ' tags, files, pin, supersedes, valid_from, expires, verified, repositories,'
            ' superseded_by, deleted)', 'memory', member);
    END LOOP;
    RETURN NULL;
END
$$;

-- Admits the members again: they get the rights on the new column.
UPDATE ctxasm.member SET role = role;
