//! Servers that register themselves (§15.4).
