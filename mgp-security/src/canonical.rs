//! RFC 8785: one spelling for one JSON value.
