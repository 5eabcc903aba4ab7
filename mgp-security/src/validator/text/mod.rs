//! What a text may hold: no invisible, bidirectional or tag characters.
