//! Schema of the audit and of the use of quotas.

#[cfg(feature = "postgres")]
use crate::sql::postgres::SchemaPart;
use crate::sql::{
    schema::{SchemaStep, Steps},
    sqlite::{DatabaseProfile, FileKind},
};

/// The file of this domain.
pub(crate) const FILE: FileKind = FileKind {
    profile: DatabaseProfile::Erasable,
    is_replaceable: true,
    ..FileKind::new("audit.db", "the audit", SCHEMA)
};

/// The tables of this domain.
#[cfg(feature = "postgres")]
pub(crate) const PART: SchemaPart = SchemaPart {
    // A host that comes back has many entries to write.
    write_timeout: Some(std::time::Duration::from_secs(30)),
    ..SchemaPart::new("audit", 6, SCHEMA)
};

pub(crate) const SCHEMA: Steps = &[SchemaStep {
    // 1: entries in a chain of digests, keys of principals, and the use of quotas. Times are in Unix milliseconds.
    both: "
    -- Key of the HMAC over arguments.
    CREATE TABLE audit_secret (
        one INTEGER PRIMARY KEY CHECK (one = 1),
        key BLOB NOT NULL
    ) STRICT;

    -- The only place with names. Deleting a row makes the entries of that principal anonymous.
    CREATE TABLE audit_principal (
        name      TEXT PRIMARY KEY,
        key       BLOB NOT NULL,
        pseudonym BLOB NOT NULL UNIQUE,
        first     INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;

    -- sealed: credential, client and address, encrypted with the key of the principal.
    CREATE TABLE audit_entry (
        seq        INTEGER PRIMARY KEY,
        at         INTEGER NOT NULL,
        kind       TEXT NOT NULL,
        principal  BLOB NOT NULL,
        sealed     BLOB NOT NULL,
        preset     TEXT,
        tool       TEXT,
        rule       TEXT,
        approval   TEXT,
        outcome    TEXT NOT NULL,
        took_us    INTEGER NOT NULL,
        tokens_in  INTEGER NOT NULL,
        tokens_out INTEGER NOT NULL,
        arguments  BLOB,
        details    TEXT,
        digest     BLOB NOT NULL
    ) STRICT;
    CREATE INDEX audit_entry_principal ON audit_entry (principal, seq);
    CREATE INDEX audit_entry_at ON audit_entry (at);

    -- The last deleted entry, where the chain begins.
    CREATE TABLE audit_anchor (
        one    INTEGER PRIMARY KEY CHECK (one = 1),
        seq    INTEGER NOT NULL,
        digest BLOB NOT NULL
    ) STRICT;

    -- The last entry, so that a cut end is noticed.
    CREATE TABLE audit_head (
        one    INTEGER PRIMARY KEY CHECK (one = 1),
        seq    INTEGER NOT NULL,
        digest BLOB NOT NULL
    ) STRICT;

    CREATE TABLE quota_usage (
        principal    TEXT NOT NULL,
        quota        TEXT NOT NULL,
        calls_start  INTEGER NOT NULL,
        calls        INTEGER NOT NULL,
        tokens_start INTEGER NOT NULL,
        tokens       INTEGER NOT NULL,
        PRIMARY KEY (principal, quota)
    ) STRICT, WITHOUT ROWID;
",
    sqlite: "
    INSERT INTO audit_secret VALUES (1, randomblob(32));
    INSERT INTO audit_anchor VALUES (1, 0, zeroblob(32));
    INSERT INTO audit_head VALUES (1, 0, zeroblob(32));

    CREATE TRIGGER entry_is_fixed BEFORE UPDATE ON audit_entry BEGIN
        SELECT RAISE(ABORT, 'audit entries cannot be changed');
    END;
    CREATE TRIGGER entry_stays BEFORE DELETE ON audit_entry WHEN OLD.seq > (SELECT seq FROM audit_anchor) BEGIN
        SELECT RAISE(ABORT, 'audit entries cannot be deleted');
    END;
    CREATE TRIGGER anchor_moves_on BEFORE UPDATE ON audit_anchor WHEN NEW.seq < OLD.seq BEGIN
        SELECT RAISE(ABORT, 'the anchor of the audit cannot move back');
    END;
    CREATE TRIGGER head_moves_on BEFORE UPDATE ON audit_head WHEN NEW.seq <= OLD.seq BEGIN
        SELECT RAISE(ABORT, 'the head of the audit cannot move back');
    END;

    -- Names cannot be exchanged.
    CREATE TRIGGER principal_is_fixed BEFORE UPDATE ON audit_principal BEGIN
        SELECT RAISE(ABORT, 'principals of the audit cannot be changed');
    END;
",
    postgres: "
    -- Ids of written batches, by which one whose end was unknown is not written again.
    CREATE TABLE audit_batch (id text PRIMARY KEY, day bigint NOT NULL);

    INSERT INTO audit_secret
        VALUES (1, decode(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex'));
    INSERT INTO audit_anchor VALUES (1, 0, decode(repeat('00', 32), 'hex'));
    INSERT INTO audit_head VALUES (1, 0, decode(repeat('00', 32), 'hex'));

    CREATE FUNCTION gatehouse.refuse_audit_change() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        RAISE EXCEPTION '%', TG_ARGV[0];
    END $$;
    CREATE FUNCTION gatehouse.check_audit_deletion() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF OLD.seq > (SELECT seq FROM gatehouse.audit_anchor) THEN
            RAISE EXCEPTION 'audit entries cannot be deleted';
        END IF;
        RETURN OLD;
    END $$;
    CREATE TRIGGER entry_is_fixed BEFORE UPDATE ON audit_entry FOR EACH ROW
        EXECUTE FUNCTION gatehouse.refuse_audit_change('audit entries cannot be changed');
    CREATE TRIGGER entry_stays BEFORE DELETE ON audit_entry FOR EACH ROW
        EXECUTE FUNCTION gatehouse.check_audit_deletion();
    CREATE TRIGGER entries_stay BEFORE TRUNCATE ON audit_entry FOR EACH STATEMENT
        EXECUTE FUNCTION gatehouse.refuse_audit_change('audit entries cannot be deleted');
    CREATE TRIGGER anchor_moves_on BEFORE UPDATE ON audit_anchor FOR EACH ROW WHEN (NEW.seq < OLD.seq)
        EXECUTE FUNCTION gatehouse.refuse_audit_change('the anchor of the audit cannot move back');
    CREATE TRIGGER head_moves_on BEFORE UPDATE ON audit_head FOR EACH ROW WHEN (NEW.seq <= OLD.seq)
        EXECUTE FUNCTION gatehouse.refuse_audit_change('the head of the audit cannot move back');
    CREATE TRIGGER principal_is_fixed BEFORE UPDATE ON audit_principal FOR EACH ROW
        EXECUTE FUNCTION gatehouse.refuse_audit_change('principals of the audit cannot be changed');
",
}];
