//! The tools of a session.
