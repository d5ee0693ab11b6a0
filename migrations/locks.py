"""Locks for revisions that change tables which every process uses."""

from __future__ import annotations


def exclusively(*tables: str) -> str:
    """Return a statement that locks tables until the transaction ends, as soon as no one else holds one of them.

    A session that waits for such a lock holds up all that come after it: the statement waits briefly, again and again.
    """
    return f"""
        DO $$
        BEGIN
            PERFORM set_config('lock_timeout', '100ms', true);
            FOR attempt IN 1 .. 600 LOOP
                BEGIN
                    LOCK TABLE {", ".join(tables)} IN ACCESS EXCLUSIVE MODE;
                    PERFORM set_config('lock_timeout', '0', true);
                    RETURN;
                EXCEPTION WHEN lock_not_available THEN
                    PERFORM pg_sleep(0.3);
                END;
            END LOOP;
            RAISE EXCEPTION 'tables are held by a transaction that does not end: see pg_stat_activity';
        END $$
    """
