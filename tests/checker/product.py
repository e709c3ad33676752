"""What the product's database says, by plain queries."""

from collections import Counter

import psycopg2


# The team of a player `p`. One who was seen by an own goal alone has none in his row, since providers name either team with
# an own goal: his is the one that did not score.
PLAYER_TEAM = """coalesce(pt.name, (
    SELECT CASE e.team_side WHEN 'home' THEN ea.name ELSE eh.name END
    FROM match_event_current e JOIN fixture ef ON ef.id = e.fixture_id
    JOIN participant eh ON eh.id = ef.home_id JOIN participant ea ON ea.id = ef.away_id
    WHERE e.player_id = p.id AND e.type_id = 15 ORDER BY e.id LIMIT 1))"""


class Product:
    """One event of an installation, read in one snapshot."""

    def __init__(self, uri, code=None):
        self.connection = psycopg2.connect(uri)
        self.connection.set_session(isolation_level="REPEATABLE READ", readonly=True)
        events = self.rows("SELECT id, code, tie_break FROM event WHERE %s IS NULL OR code = %s", code, code)
        if len(events) != 1:
            raise ValueError("the database has %d events; name one by --event" % len(events))
        self.event_id, self.code, self.tie_break = events[0]

    def rows(self, sql, *values):
        with self.connection.cursor() as cursor:
            cursor.execute(sql, values or None)
            return cursor.fetchall()

    def number(self, sql, *values):
        return self.rows(sql, *values)[0][0]

    def terminal_fixtures(self):
        return self.number("SELECT count(*) FROM fixture WHERE event_id = %s AND is_terminal", self.event_id)

    def fixtures(self):
        """{provider's id: (kick-off, home, away)}"""
        rows = self.rows(
            """SELECT f.provider_id, to_char(f.kickoff AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), h.name, a.name
               FROM fixture f JOIN participant h ON h.id = f.home_id JOIN participant a ON a.id = f.away_id
               WHERE f.event_id = %s""", self.event_id)
        return {row[0]: tuple(row[1:]) for row in rows}

    def events(self):
        """Counter of (fixture's provider id, type id, minute, added, side's team, player) over match_event_current."""
        return Counter(map(tuple, self.rows(
            """SELECT f.provider_id, m.type_id, m.minute, nullif(m.extra_minute, 0),
                      CASE m.team_side WHEN 'home' THEN h.name WHEN 'away' THEN a.name ELSE p.name END, m.player_name
               FROM match_event_current m JOIN fixture f ON f.id = m.fixture_id
               LEFT JOIN participant h ON h.id = f.home_id LEFT JOIN participant a ON a.id = f.away_id
               LEFT JOIN participant p ON p.id = m.participant_id WHERE f.event_id = %s""", self.event_id)))

    def rules(self):
        return {(row[0], row[1]): row[2] for row in self.rows(
            "SELECT type_id, role, micro FROM bump_rule WHERE event_id = %s", self.event_id)}

    def ledger(self):
        """Entries (fixture's provider id, type id, role, kind, name, team of a player, micro)."""
        return list(map(tuple, self.rows(
            """SELECT f.provider_id, m.type_id, l.role, i.kind, coalesce(t.name, p.name), """ + PLAYER_TEAM + """, l.micro
               FROM event_bump_log l JOIN fixture f ON f.id = l.fixture_id JOIN instrument i ON i.id = l.instrument_id
               LEFT JOIN match_events m ON m.provider = l.provider AND m.fixture_id = l.fixture_id
                                       AND m.provider_event_id = l.provider_event_id
               LEFT JOIN participant t ON i.kind = 'team' AND t.provider = i.provider AND t.provider_id = i.provider_id
               LEFT JOIN player p ON i.kind = 'player' AND p.provider = i.provider AND p.provider_id = i.provider_id
               LEFT JOIN participant pt ON pt.id = p.participant_id WHERE f.event_id = %s""", self.event_id)))

    def totals(self):
        """{instrument: (kind, name, team of a player, total, sum of its ledger, seq, entries, newest tick)}"""
        return list(map(tuple, self.rows(
            """SELECT i.kind, coalesce(t.name, p.name), """ + PLAYER_TEAM + """, b.total, coalesce(l.micro, 0), coalesce(b.seq, 0),
                      coalesce(l.entries, 0), k.total
               FROM instrument i
               LEFT JOIN participant t ON i.kind = 'team' AND t.provider = i.provider AND t.provider_id = i.provider_id
               LEFT JOIN player p ON i.kind = 'player' AND p.provider = i.provider AND p.provider_id = i.provider_id
               LEFT JOIN participant pt ON pt.id = p.participant_id
               LEFT JOIN instrument_bump b ON b.instrument_id = i.id
               LEFT JOIN (SELECT instrument_id, sum(micro)::bigint AS micro, count(*) AS entries FROM event_bump_log
                          GROUP BY instrument_id) l ON l.instrument_id = i.id
               LEFT JOIN LATERAL (SELECT total FROM price_tick q WHERE q.instrument_id = i.id ORDER BY q.seq DESC
                                  LIMIT 1) k ON true""")))

    def documents(self):
        """{doc_key: (epoch, seq, sha256, body_gz, is retired)}"""
        return {row[0]: tuple(row[1:]) for row in self.rows(
            """SELECT doc_key, epoch, seq, encode(body_hash, 'hex'), body_gz, retired_at IS NOT NULL
               FROM feed_document WHERE event = %s""", self.code)}

    def versions(self):
        """{(doc_key, epoch, seq): (sha256, changed_at)}"""
        return {tuple(row[:3]): (row[3], row[4]) for row in self.rows(
            """SELECT doc_key, epoch, seq, encode(body_hash, 'hex'), changed_at FROM feed_version
               WHERE split_part(doc_key, '/', 1) = %s""", self.code)}

    def proofs(self, destination):
        """Proofs in the order in which they were written: (doc_key, epoch, seq, outcome, path, sha256)."""
        return list(map(tuple, self.rows(
            """SELECT t.doc_key, t.epoch, t.seq, t.outcome, t.path, encode(t.body_hash, 'hex')
               FROM delivery_attempt t JOIN delivery_assignment a ON a.id = t.assignment_id
               WHERE a.name = %s AND t.outcome IN ('delivered', 'delivered_equal') ORDER BY t.id""", destination)))

    def cached_totals(self):
        """The epoch, and (instrument's id, epoch, seq, total) of each total."""
        return (self.number("SELECT epoch FROM cluster_epoch"),
                self.rows("SELECT instrument_id, epoch, seq, total FROM instrument_bump ORDER BY 1"))

    def missing_touches(self):
        """Files that the audit found changed without a touch."""
        return [row[0] for row in self.rows("SELECT subject FROM alert WHERE kind = 'build.missing_touch' ORDER BY 1")]

    def audited(self):
        """Files that the audit has built once more since their newest version."""
        return self.number("SELECT count(*) FROM feed_document WHERE event = %s AND audited_at > built_at + interval '100 ms'", self.code)

    def renders(self):
        """{transport: render} of the destinations."""
        return dict(self.rows("SELECT transport, render FROM delivery_assignment ORDER BY id"))

    def owed(self):
        """Files whose newest version, as the destination wants it, is not recorded as being there."""
        return self.number(
            """SELECT count(*) FROM delivery_assignment a JOIN delivery_client c ON c.id = a.client_id
               JOIN feed_document d ON (a.events IS NULL OR d.event = ANY (a.events))
                                   AND (a.feed_types IS NULL OR d.feed_type = ANY (a.feed_types))
               LEFT JOIN delivery_state s ON s.assignment_id = a.id AND s.doc_key = d.doc_key
               WHERE a.is_on AND c.is_on AND d.event = %s
                 AND (coalesce(s.sent_epoch, 0), coalesce(s.sent_seq, 0), coalesce(s.sent_render, 0))
                     < (d.epoch, d.seq, a.render)""", self.code)

    def unbuilt(self):
        return self.number("SELECT count(*) FROM feed_dirty")

    def quarantined(self):
        return self.number("SELECT count(*) FROM event_quarantine")
