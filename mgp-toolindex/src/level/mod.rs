//! Which definitions are in the context at all.
