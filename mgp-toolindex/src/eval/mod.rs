//! How good a search is.
