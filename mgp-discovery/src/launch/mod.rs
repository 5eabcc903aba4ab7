//! How packages are started.
