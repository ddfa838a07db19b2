-- Memories, one a row, and the roles that may read and write those of a home.

CREATE FUNCTION ctxasm.is_value(word text) RETURNS boolean LANGUAGE sql IMMUTABLE
    RETURN word !~ '["{}\x01-\x1f\x7f]' AND word <> '' AND length(word) <= 1000
        AND word !~ '^[ \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]'
        AND word !~ '[ \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]$';

-- No line ends in white space, nor does the text begin with it: where a page is read, that is taken off.
CREATE FUNCTION ctxasm.is_trimmed(lines text) RETURNS boolean LANGUAGE sql IMMUTABLE
    RETURN lines !~ '^[\t-\r\x1c- \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]'
        AND lines !~ '[\t\x0b-\r\x1c- \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000](\n|$)' AND right(lines, 1) <> E'\n';

CREATE FUNCTION ctxasm.are_values(words text[]) RETURNS boolean LANGUAGE sql IMMUTABLE
    RETURN words = '{}' OR (
        array_position(words, NULL) IS NULL AND length(array_to_string(words, ',')) <= 8192
        AND (SELECT bool_and(ctxasm.is_value(word) AND word !~ ',') FROM unnest(words) AS each (word))
    );

-- What the keys of advisory locks are mixed with: whoever can compute one can hold it and keep writers waiting.
CREATE TABLE ctxasm.salt (salt text NOT NULL);
INSERT INTO ctxasm.salt VALUES (gen_random_uuid()::text);

CREATE TABLE ctxasm.member (
    role name NOT NULL,
    home text NOT NULL,
    writes boolean NOT NULL DEFAULT false,
    PRIMARY KEY (role, home)
);

-- The checks hold what a list item of Markdown can hold: a row that passes them can be read back from its page.
CREATE TABLE ctxasm.memory (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    home text NOT NULL CHECK (home ~ '^(agents|teams)/[\w-][\w.-]*$'),
    id text NOT NULL CHECK (ctxasm.is_value(id) AND length(id) <= 200),
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
    expires date CHECK (expires BETWEEN '0001-01-01' AND '9999-12-31'),
    superseded_by text NOT NULL DEFAULT '' CHECK (superseded_by = '' OR ctxasm.is_value(superseded_by)),
    writer text NOT NULL DEFAULT '' CHECK (writer = '' OR ctxasm.is_value(writer)),
    deleted boolean NOT NULL DEFAULT false,
    role name NOT NULL,
    page text COLLATE "C" NOT NULL,
    slot integer NOT NULL,
    filled bigint NOT NULL,
    changed xid8 NOT NULL,
    CHECK (page ~ ('^[0-9]{4}-[0-9]{2}\.' || CASE WHEN private THEN 'private\.' ELSE '' END || '[0-9]{6}$'))
);

-- What changed since a pull, the rows of a page in their order, and equal texts.
CREATE INDEX ON ctxasm.memory (home, changed);
CREATE INDEX ON ctxasm.memory (home, role, page, seq);
CREATE INDEX ON ctxasm.memory (home, md5(text));

-- What a role has to keep from superseding the private memories of others.
CREATE INDEX ON ctxasm.memory (home) WHERE supersedes <> '{}';

-- A memory is known by its id and whether it is private. An id that is taken must not tell of another role's private
-- memory; and a role may import an export, in which a private memory of its own has the id of another role's open one.
CREATE UNIQUE INDEX ON ctxasm.memory (home, id) WHERE NOT private;
CREATE UNIQUE INDEX ON ctxasm.memory (id, home, role, private);

-- `role` is who stored a row, and the server signs it; `writer` is what a program said of itself, such as `mcp`.
-- Role, page, slot and transaction of a row are set here, whatever the statement says. A page has the open or the private
-- rows of one role and one month of creation, no two of which have one id, about 512 of them and 4 MB of text: `slot` and
-- `filled` count them, so the last row of a page tells whether it is full. A file of more than 64 MB is not read.
-- Two that are stored at once may get one slot, and then a page has a row more. `private` stays as it is: a row that
-- others can no longer see would stay in their mirrors.
CREATE FUNCTION ctxasm.sign() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
DECLARE
    month text := to_char(coalesce(NEW.created, current_date), 'YYYY-MM');
    stem text := month || CASE WHEN NEW.private THEN '.private.' ELSE '.' END;
    first_name text := coalesce(NEW.page, stem || '0');  -- as variables: within the query they would keep an index out
    last_name text := coalesce(NEW.page, stem || ':');
    last_page text;
    last_slot integer;
    last_filled bigint;
    by_others text[] := '{importance,accessed,status,superseded_by,type,key,tags,supersedes,changed}';
BEGIN
    IF TG_OP = 'INSERT' THEN
        NEW.role := current_user;
        SELECT m.page, m.slot, m.filled INTO last_page, last_slot, last_filled FROM ctxasm.memory m
            WHERE m.home = NEW.home AND m.role = NEW.role
            AND m.page >= first_name AND m.page <= last_name
            ORDER BY m.page DESC, m.seq DESC LIMIT 1;
        IF NEW.page IS NULL THEN
            NEW.page := stem || CASE
                WHEN last_page IS NULL THEN '000000'
                WHEN last_slot < 512 AND last_filled + octet_length(NEW.text) <= 4000000 THEN right(last_page, 6)
                ELSE lpad(least(right(last_page, 6)::integer + 1, 999999)::text, 6, '0')
            END;
        END IF;
        NEW.slot := CASE WHEN NEW.page = last_page THEN last_slot + 1 ELSE 1 END;
        NEW.filled := octet_length(NEW.text) + CASE WHEN NEW.page = last_page THEN last_filled ELSE 0 END;
    ELSIF (NEW.seq, NEW.home, NEW.id, NEW.role, NEW.writer, NEW.page, NEW.slot, NEW.filled, NEW.private)
        IS DISTINCT FROM (OLD.seq, OLD.home, OLD.id, OLD.role, OLD.writer, OLD.page, OLD.slot, OLD.filled, OLD.private) THEN
        RAISE EXCEPTION 'home, id, role, writer, page and private of a memory can not be changed'
            USING ERRCODE = 'insufficient_privilege';
    ELSIF NEW.text <> OLD.text AND OLD.role <> current_user THEN
        RAISE EXCEPTION 'the text of a memory is changed by the role that stored it' USING ERRCODE = 'insufficient_privilege';
    ELSIF OLD.role <> current_user AND (
        to_jsonb(NEW) - by_others IS DISTINCT FROM to_jsonb(OLD) - by_others
        OR NEW.importance < OLD.importance
        OR (OLD.accessed IS NOT NULL AND (NEW.accessed < OLD.accessed OR NEW.accessed IS NULL))
        OR (NEW.type <> OLD.type AND OLD.type <> 'note')
        OR (NEW.key <> OLD.key AND OLD.key <> '')
        OR NOT (NEW.tags @> OLD.tags AND NEW.supersedes @> OLD.supersedes)
    ) THEN
        RAISE EXCEPTION 'other roles than the one that stored a memory reinforce it, supersede it or set its status'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    NEW.changed := pg_current_xact_id();
    RETURN NEW;
END
$$;

CREATE TRIGGER sign BEFORE INSERT OR UPDATE ON ctxasm.memory FOR EACH ROW EXECUTE FUNCTION ctxasm.sign();
