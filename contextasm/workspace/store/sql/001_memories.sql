-- Memories, one a row, and the roles that may read and write those of a owner.

-- What a value of an attribute can be and is read as: nothing that ends it, no white space around it, and nothing hidden,
-- which reading takes out. What joins letters and emoji may stand behind one of them.
CREATE FUNCTION ctxasm.is_value(word text) RETURNS boolean LANGUAGE sql IMMUTABLE
    RETURN word !~ '["{}\x01-\x1f\x7f-\x9f]' AND word !~ '(^ | $)' AND word <> '' AND length(word) <= 1000 AND (
        octet_length(word) = length(word)
        OR (
            word !~ '^[ \u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]'
            AND word !~ '[ \u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]$'
            AND word !~ '[\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164]'
            AND word !~ '[\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]'
            AND word !~ '(^|[\x01-\u0589])[\u200c\u200d\ufe0e\ufe0f]'
        )
    );

-- No line ends in white space, nor does the text begin with it: where a page is read, that is taken off.
CREATE FUNCTION ctxasm.is_trimmed(lines text) RETURNS boolean LANGUAGE sql IMMUTABLE
    RETURN lines !~ '^[\t-\r\x1c- \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]'
        AND lines !~ '[\t\x0b-\r\x1c- \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000](\n|$)' AND right(lines, 1) <> E'\n';

CREATE FUNCTION ctxasm.are_values(words text[]) RETURNS boolean LANGUAGE sql IMMUTABLE
    RETURN words = '{}' OR (
        array_position(words, NULL) IS NULL AND length(array_to_string(words, ',')) <= 8192
        AND (SELECT bool_and(ctxasm.is_value(word) AND word !~ ',') FROM unnest(words) AS each (word))
    );

-- An id begins with the number of the role that stored the memory (`member.number`), a `p` if it is private, and a hyphen. So
-- no id that one role chooses is that of another role's memory, and none of an open memory is that of a private one.
CREATE FUNCTION ctxasm.is_id(id text, private boolean) RETURNS boolean LANGUAGE sql IMMUTABLE
    RETURN id ~ CASE WHEN private THEN '^[0-9]+p-' ELSE '^[0-9]+-' END AND ctxasm.is_value(regexp_replace(id, '^[0-9]+p?-', ''));

-- Whether each word is an id; that of a private memory only among the words of a private one.
CREATE FUNCTION ctxasm.are_ids(words text[], private boolean) RETURNS boolean LANGUAGE sql IMMUTABLE
    RETURN words = '{}' OR (
        SELECT bool_and(ctxasm.is_id(word, false) OR are_ids.private AND ctxasm.is_id(word, true))
        FROM unnest(words) AS each (word)
    );

-- What the keys of advisory locks are mixed with: whoever can compute one can hold it and keep writers waiting.
CREATE TABLE ctxasm.salt (salt text NOT NULL);
INSERT INTO ctxasm.salt VALUES (gen_random_uuid()::text);

CREATE TABLE ctxasm.member (
    role name NOT NULL,
    owner text NOT NULL,
    writes boolean NOT NULL DEFAULT false,
    -- Given once: a role that is dropped and made anew gets another one with its new row.
    number bigint GENERATED ALWAYS AS IDENTITY,
    -- Those of `memory` that this row gives a right on: that of the owner's open memories, and the role's own private one.
    scopes text[] GENERATED ALWAYS AS (ARRAY[owner, owner || '/' || role::text]) STORED,
    PRIMARY KEY (role, owner)
);

-- The checks hold what a list item of Markdown can hold: a row that passes them can be read back from its page.
CREATE TABLE ctxasm.memory (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- In letters of any script, whatever the locale of the database; settings name fewer.
    owner text NOT NULL CHECK (owner ~ '^(agents|teams)/[^\x01-,./:-@[-^`{-\x7f][^\x01-,/:-@[-^`{-\x7f]*$' AND ctxasm.is_value(owner)),
    id text NOT NULL CHECK (length(id) <= 222),
    text text NOT NULL CHECK (
        ctxasm.is_trimmed(text) AND text !~ '\r' AND length(text) <= 65536
        AND text ~ '[^\x01- \x7f-\u00a0]'  -- one of control characters alone is read as no memory
    ),
    type text NOT NULL DEFAULT 'note' CHECK (
        type ~ '^[^][()\s]([^][()]*[^][()\s])?$' AND ctxasm.is_value(type) AND type NOT IN ('x', 'X', '-')
    ),
    importance double precision NOT NULL DEFAULT 0.5 CHECK (importance BETWEEN 0 AND 1),
    created date CHECK (created BETWEEN '0001-01-01' AND '9999-12-31'),
    accessed date CHECK (accessed BETWEEN '0001-01-01' AND '9999-12-31'),
    status text NOT NULL DEFAULT 'active' CHECK (ctxasm.is_value(status) AND status ~ '^[!-@\[-~ ]+$'),
    confidence double precision NOT NULL DEFAULT 0.5 CHECK (confidence BETWEEN 0 AND 1),
    key text NOT NULL DEFAULT '' CHECK (key = '' OR ctxasm.is_value(key)),
    tier text NOT NULL DEFAULT '' CHECK (tier = '' OR ctxasm.is_value(tier)),
    dedup text NOT NULL DEFAULT '' CHECK (dedup = '' OR ctxasm.is_value(dedup)),
    tags text[] NOT NULL DEFAULT '{}' CHECK (ctxasm.are_values(tags)),
    files text[] NOT NULL DEFAULT '{}' CHECK (ctxasm.are_values(files)),
    private boolean NOT NULL DEFAULT false,
    pin boolean NOT NULL DEFAULT false,
    supersedes text[] NOT NULL DEFAULT '{}' CHECK (ctxasm.are_values(supersedes)),
    -- The first and the last day on which a memory holds, and the day on which it was last confirmed.
    valid_from date CHECK (valid_from BETWEEN '0001-01-01' AND '9999-12-31'),
    expires date CHECK (expires BETWEEN '0001-01-01' AND '9999-12-31'),
    verified date CHECK (verified BETWEEN '0001-01-01' AND '9999-12-31'),
    superseded_by text NOT NULL DEFAULT '',
    -- Patterns of the repositories in which a memory holds, and the lines of files that it rests on.
    repositories text[] NOT NULL DEFAULT '{}' CHECK (ctxasm.are_values(repositories)),
    cites text[] NOT NULL DEFAULT '{}' CHECK (ctxasm.are_values(cites)),
    writer text NOT NULL DEFAULT '' CHECK (writer = '' OR ctxasm.is_value(writer)),
    deleted boolean NOT NULL DEFAULT false,
    role name NOT NULL,
    -- Who sees a row: the members of the owner, or the role that stored it.
    scope text COLLATE "C" GENERATED ALWAYS AS (owner || CASE WHEN private THEN '/' || role::text ELSE '' END) STORED,
    page text COLLATE "C" NOT NULL,
    slot integer NOT NULL CHECK (slot BETWEEN 1 AND 512),
    filled bigint NOT NULL,
    changed xid8 NOT NULL,
    CHECK (page ~ ('^[0-9]{4}-[0-9]{2}\.' || CASE WHEN private THEN 'private\.' ELSE '' END || '[0-9]{6}$')),
    -- 512 rows are a file of less than 64 MB, whatever is in them and however they grow: a larger one is not read.
    CONSTRAINT memory_size CHECK (
        octet_length(replace(text, E'\n', E'\n  '))
        + octet_length(array_to_string(tags || files || supersedes || repositories || cites, ','))
        + octet_length(id || type || status || key || tier || dedup || superseded_by || writer) <= 120000
    ),
    CHECK (ctxasm.is_id(id, private)),
    -- An open memory supersedes no private one: others would read its id, and no role can switch off what it does not see.
    CHECK (ctxasm.are_ids(supersedes, private)),
    CHECK (superseded_by = '' OR ctxasm.are_ids(ARRAY[superseded_by], private)),
    UNIQUE (scope, id),
    UNIQUE (scope, role, page, slot)
);

-- What changed since a pull, and equal texts. All indexes but that of `seq` begin with the scope, and so does each search in them
-- (policy `readers`): `EXPLAIN` counts rows that are passed over, so by halving ranges a role would learn the ids and texts of
-- rows that it may not see.
CREATE INDEX ON ctxasm.memory (scope, changed);
CREATE INDEX memory_text ON ctxasm.memory (scope, md5(text));

-- Nor does the server keep samples, which `EXPLAIN` would estimate with.
DO $$
DECLARE
    named record;
BEGIN
    FOR named IN SELECT c.relname, a.attname FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
        WHERE c.oid IN ('ctxasm.memory'::regclass, 'ctxasm.member'::regclass, 'ctxasm.salt'::regclass) AND a.attnum > 0
    LOOP
        EXECUTE format('ALTER TABLE ctxasm.%I ALTER COLUMN %I SET STATISTICS 0', named.relname, named.attname);
    END LOOP;
END
$$;
ALTER INDEX ctxasm.memory_text ALTER COLUMN 2 SET STATISTICS 0;

-- The place of a role's new memory: a page has the open or the private rows of one role and one month of creation, 512 of
-- them or about 4 MB of text. `slot` and `filled` count them, so the last row of a page tells whether it is full.
-- Transactions that are open at once fill pages of their own, those of one lane each: the numbers from 10,000 times its
-- number on. So no page gets more rows than one transaction sees, and none waits. Past all lanes two may take one slot,
-- and the later one is undone. A page that is asked for is kept to while there is room.
CREATE FUNCTION ctxasm.find_place(
    memory_scope text, memory_role name, stem text, bytes bigint, INOUT page text, OUT slot integer, OUT filled bigint
) LANGUAGE plpgsql SET enable_sort = off AS $$  -- by the index in that order, though no sample tells of the other ones
DECLARE
    last_lane CONSTANT integer := 63;
    asked CONSTANT text := page;
    first_name text;  -- as variables: within the query they would keep an index out
    last_name text;
    last_page text;
    last_slot integer;
    last_filled bigint;
BEGIN
    FOR lane IN -1 .. last_lane LOOP
        CONTINUE WHEN lane < 0 AND asked IS NULL;
        CONTINUE WHEN lane BETWEEN 0 AND last_lane - 1
            AND NOT pg_try_advisory_xact_lock(hashtextextended(memory_scope || chr(10) || memory_role || chr(10) || stem, lane));
        first_name := CASE WHEN lane < 0 THEN asked ELSE stem || lpad(lane::text, 2, '0') END;
        last_name := CASE WHEN lane < 0 THEN asked ELSE first_name || ':' END;
        SELECT m.page, m.slot, m.filled INTO last_page, last_slot, last_filled FROM ctxasm.memory m
            WHERE m.scope = memory_scope AND m.role = memory_role AND m.page >= first_name AND m.page <= last_name
            ORDER BY m.page DESC, m.slot DESC LIMIT 1;
        slot := 1;
        filled := bytes;
        IF last_page IS NULL THEN
            page := CASE WHEN lane < 0 THEN asked ELSE first_name || '0000' END;
            RETURN;
        ELSIF last_slot < 512 AND (last_filled + bytes <= 4000000 OR lane < 0) THEN
            page := last_page;
            slot := last_slot + 1;
            filled := last_filled + bytes;
            RETURN;
        ELSIF lane >= 0 AND right(last_page, 4) <> '9999' THEN
            page := stem || lpad((right(last_page, 6)::integer + 1)::text, 6, '0');
            RETURN;
        END IF;
    END LOOP;
    RAISE EXCEPTION 'no page of % has room', stem USING ERRCODE = 'program_limit_exceeded';
END
$$;

-- `role` is who stored a row, and the server signs it; `writer` is what a program said of itself, such as `mcp`.
-- Role, page, slot, transaction and the beginning of the id of a row are set here, whatever the statement says. `private` stays
-- as it is: a row that others can no longer see would stay in their replicas.
CREATE FUNCTION ctxasm.sign() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
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

CREATE TRIGGER sign BEFORE INSERT OR UPDATE ON ctxasm.memory FOR EACH ROW EXECUTE FUNCTION ctxasm.sign();

-- Rights: row-level security answers by role, owner and privacy. The one who made the tables is no exception.

-- The scopes of an owner that a role may read, if it is a member. Clients ask by these, since each index begins with them.
CREATE FUNCTION ctxasm.scopes(owner text) RETURNS text[] LANGUAGE sql STABLE PARALLEL SAFE
    RETURN ARRAY[owner, owner || '/' || current_user::text];

-- Whether a row is in one of the scopes. In PL/pgSQL, which is not taken apart, and the cheapest condition of all: so it
-- is asked of each row before any other condition of a statement, whose effort would tell of rows that nobody may see.
CREATE FUNCTION ctxasm.holds(scopes text[], scope text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    COST 0.0001 AS $$
BEGIN
    RETURN scope OPERATOR(pg_catalog.=) ANY (scopes);
END
$$;

ALTER TABLE ctxasm.memory ENABLE ROW LEVEL SECURITY;
ALTER TABLE ctxasm.memory FORCE ROW LEVEL SECURITY;

-- The second condition is for the indexes, each of which begins with the scope: it is part of every search in them.
CREATE POLICY readers ON ctxasm.memory FOR SELECT USING (
    ctxasm.holds(ARRAY(SELECT unnest(m.scopes) FROM ctxasm.member m WHERE m.role = current_user), scope)
    AND scope = ANY (ARRAY(SELECT unnest(m.scopes) FROM ctxasm.member m WHERE m.role = current_user))
);

CREATE POLICY writers ON ctxasm.memory FOR INSERT WITH CHECK (
    memory.role = current_user
    AND scope = ANY (ARRAY(SELECT unnest(m.scopes) FROM ctxasm.member m WHERE m.role = current_user AND m.writes))
);

CREATE POLICY editors ON ctxasm.memory FOR UPDATE USING (
    ctxasm.holds(ARRAY(SELECT unnest(m.scopes) FROM ctxasm.member m WHERE m.role = current_user AND m.writes), scope)
) WITH CHECK (
    scope = ANY (ARRAY(SELECT unnest(m.scopes) FROM ctxasm.member m WHERE m.role = current_user AND m.writes))
);

-- Roles see their own memberships; the role that made the store, which is not held to this, sees and gives all.
ALTER TABLE ctxasm.member ENABLE ROW LEVEL SECURITY;

CREATE POLICY own ON ctxasm.member FOR SELECT USING (role = current_user);

-- The salt of locks is for those who write somewhere, and nobody changes it.
ALTER TABLE ctxasm.salt ENABLE ROW LEVEL SECURITY;

CREATE POLICY writers ON ctxasm.salt FOR SELECT USING (
    EXISTS (SELECT FROM ctxasm.member m WHERE m.role = current_user AND m.writes)
);

-- Every role may ask what the version is and where it is a member, so that a former member is told so, and its replica goes.
GRANT USAGE ON SCHEMA ctxasm TO PUBLIC;
GRANT SELECT ON ctxasm.migration, ctxasm.member TO PUBLIC;

-- The tables of memories are for members alone: a row of `member` gives the rights on them, and they go with the last one.
-- The role that made the tables has them. A role that is gone has none to lose.
CREATE FUNCTION ctxasm.admit() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
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

CREATE TRIGGER admit AFTER INSERT OR DELETE OR UPDATE OF role ON ctxasm.member FOR EACH ROW EXECUTE FUNCTION ctxasm.admit();
