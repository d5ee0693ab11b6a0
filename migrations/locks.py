"""Locks of tables that everybody uses."""

from __future__ import annotations


def exclusively(*tables: str) -> str:
    """Lock them until the transaction ends, as soon as nobody holds one of them.

    Whoever waits for such a lock holds up all that come after: it is asked for briefly, again and again.
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
