-- Rights: every role of the database may ask, and row-level security answers by role and home. The owner is no exception.

ALTER TABLE ctxasm.memory ENABLE ROW LEVEL SECURITY;
ALTER TABLE ctxasm.memory FORCE ROW LEVEL SECURITY;

CREATE POLICY readers ON ctxasm.memory FOR SELECT USING (
    home IN (SELECT m.home FROM ctxasm.member m WHERE m.role = current_user)
    AND (NOT private OR memory.role = current_user)
);

CREATE POLICY writers ON ctxasm.memory FOR INSERT WITH CHECK (
    memory.role = current_user
    AND home IN (SELECT m.home FROM ctxasm.member m WHERE m.role = current_user AND m.writes)
);

CREATE POLICY editors ON ctxasm.memory FOR UPDATE USING (
    home IN (SELECT m.home FROM ctxasm.member m WHERE m.role = current_user AND m.writes)
    AND (NOT private OR memory.role = current_user)
) WITH CHECK (
    home IN (SELECT m.home FROM ctxasm.member m WHERE m.role = current_user AND m.writes)
    AND (NOT private OR memory.role = current_user)
);

-- Roles see their own memberships; the owner of the store, who is not held to this, sees and gives all.
ALTER TABLE ctxasm.member ENABLE ROW LEVEL SECURITY;

CREATE POLICY own ON ctxasm.member FOR SELECT USING (role = current_user);

-- The salt of locks is for those who write somewhere, and nobody changes it.
ALTER TABLE ctxasm.salt ENABLE ROW LEVEL SECURITY;

CREATE POLICY writers ON ctxasm.salt FOR SELECT USING (
    EXISTS (SELECT FROM ctxasm.member m WHERE m.role = current_user AND m.writes)
);

GRANT USAGE ON SCHEMA ctxasm TO PUBLIC;
GRANT SELECT ON ctxasm.migration, ctxasm.member, ctxasm.memory, ctxasm.salt TO PUBLIC;
GRANT INSERT (
    home, id, text, type, importance, created, accessed, status, confidence, key, tier, dedup, tags, files, private, pin,
    supersedes, expires, superseded_by, writer, page
) ON ctxasm.memory TO PUBLIC;
GRANT UPDATE (
    text, type, importance, created, accessed, status, confidence, key, tier, dedup, tags, files, pin, supersedes, expires,
    superseded_by, deleted
) ON ctxasm.memory TO PUBLIC;
