"""The end of a run as something that can be compared with the end of another: by the provider's ids and content, never by
our own row numbers, stamps or sources."""

import psycopg2

QUERIES = {
    "event": """
        SELECT f.provider_id, m.provider_event_id, m.type_id, m.type, m.minute, m.extra_minute, m.team_side,
               t.provider_id, p.provider_id, m.player_name, a.provider_id, m.assist_name, m.result, m.revision_kind,
               encode(m.content_hash, 'hex'), m.may_bump
        FROM match_event_current m JOIN fixture f ON f.id = m.fixture_id
        LEFT JOIN participant t ON t.id = m.participant_id LEFT JOIN player p ON p.id = m.player_id
        LEFT JOIN player a ON a.id = m.assist_player_id""",
    "net ledger": """
        SELECT f.provider_id, l.provider_event_id, i.kind, i.provider_id, l.role, sum(l.micro)::bigint
        FROM event_bump_log l JOIN fixture f ON f.id = l.fixture_id JOIN instrument i ON i.id = l.instrument_id
        GROUP BY 1, 2, 3, 4, 5""",
    "total": """
        SELECT i.kind, i.provider_id, b.total FROM instrument i LEFT JOIN instrument_bump b ON b.instrument_id = i.id""",
    "file": "SELECT doc_key, encode(content_hash, 'hex'), retired_at IS NOT NULL FROM feed_document",
}


def read_state(uri):
    """{what: sorted rows}"""
    connection = psycopg2.connect(uri)
    try:
        connection.set_session(isolation_level="REPEATABLE READ", readonly=True)
        state = {}
        for what, query in QUERIES.items():
            with connection.cursor() as cursor:
                cursor.execute(query)
                state[what] = sorted(cursor.fetchall(), key=repr)
        return state
    finally:
        connection.close()


def differences(undisturbed, disturbed):
    """A line for each row that only one of the two has."""
    lines = []
    for what in undisturbed:
        one, other = set(map(repr, undisturbed[what])), set(map(repr, disturbed[what]))
        lines += ["%s only in the undisturbed run: %s" % (what, row) for row in sorted(one - other)]
        lines += ["%s only in the disturbed run: %s" % (what, row) for row in sorted(other - one)]
        if len(undisturbed[what]) != len(disturbed[what]) and one == other:
            lines.append("%s: %d rows, undisturbed %d" % (what, len(disturbed[what]), len(undisturbed[what])))
    return lines
