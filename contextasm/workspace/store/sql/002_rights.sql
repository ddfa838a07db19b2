-- Rights: row-level security answers by role, home and privacy. The owner is no exception.

-- The shelves of a home that a role may read, if it is a member. Clients ask by these, since each index begins with them.
CREATE FUNCTION ctxasm.shelves(home text) RETURNS text[] LANGUAGE sql STABLE PARALLEL SAFE
    RETURN ARRAY[home, home || '/' || current_user::text];

-- Whether a row stands on one of the shelves. In PL/pgSQL, which is not taken apart, and the cheapest condition of all: so it
-- is asked of each row before any other condition of a statement, whose effort would tell of rows that nobody may see.
CREATE FUNCTION ctxasm.holds(shelves text[], shelf text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    COST 0.0001 AS $$
BEGIN
    RETURN shelf OPERATOR(pg_catalog.=) ANY (shelves);
END
$$;

ALTER TABLE ctxasm.memory ENABLE ROW LEVEL SECURITY;
ALTER TABLE ctxasm.memory FORCE ROW LEVEL SECURITY;

-- The second condition is for the indexes, each of which begins with the shelf: it is part of every search in them.
CREATE POLICY readers ON ctxasm.memory FOR SELECT USING (
    ctxasm.holds(ARRAY(SELECT unnest(m.shelves) FROM ctxasm.member m WHERE m.role = current_user), shelf)
    AND shelf = ANY (ARRAY(SELECT unnest(m.shelves) FROM ctxasm.member m WHERE m.role = current_user))
);

CREATE POLICY writers ON ctxasm.memory FOR INSERT WITH CHECK (
    memory.role = current_user
    AND shelf = ANY (ARRAY(SELECT unnest(m.shelves) FROM ctxasm.member m WHERE m.role = current_user AND m.writes))
);

CREATE POLICY editors ON ctxasm.memory FOR UPDATE USING (
    ctxasm.holds(ARRAY(SELECT unnest(m.shelves) FROM ctxasm.member m WHERE m.role = current_user AND m.writes), shelf)
) WITH CHECK (
    shelf = ANY (ARRAY(SELECT unnest(m.shelves) FROM ctxasm.member m WHERE m.role = current_user AND m.writes))
);

-- Roles see their own memberships; the owner of the store, who is not held to this, sees and gives all.
ALTER TABLE ctxasm.member ENABLE ROW LEVEL SECURITY;

CREATE POLICY own ON ctxasm.member FOR SELECT USING (role = current_user);

-- The salt of locks is for those who write somewhere, and nobody changes it.
ALTER TABLE ctxasm.salt ENABLE ROW LEVEL SECURITY;

CREATE POLICY writers ON ctxasm.salt FOR SELECT USING (
    EXISTS (SELECT FROM ctxasm.member m WHERE m.role = current_user AND m.writes)
);

-- Every role may ask what the version is and where it is a member, so that a former member is told so, and its mirror goes.
GRANT USAGE ON SCHEMA ctxasm TO PUBLIC;
GRANT SELECT ON ctxasm.migration, ctxasm.member TO PUBLIC;

-- The tables of memories are for members alone: a row of `member` gives the rights on them, and they go with the last one.
-- The owner has them. A role that is gone has none to lose.
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
        EXECUTE format(rights, 'INSERT (home, id, text, type, importance, created, accessed, status, confidence, key, tier,'
            ' dedup, tags, files, private, pin, supersedes, expires, superseded_by, writer, page)', 'memory', member);
        EXECUTE format(rights, 'UPDATE (text, type, importance, created, accessed, status, confidence, key, tier, dedup,'
            ' tags, files, pin, supersedes, expires, superseded_by, deleted)', 'memory', member);
    END LOOP;
    RETURN NULL;
END
$$;

CREATE TRIGGER admit AFTER INSERT OR DELETE OR UPDATE OF role ON ctxasm.member FOR EACH ROW EXECUTE FUNCTION ctxasm.admit();
