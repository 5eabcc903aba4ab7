//! Where tools belong.
