//! Learning from use.
