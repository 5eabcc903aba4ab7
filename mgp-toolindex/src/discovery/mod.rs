//! Searches and requests for tools, as methods and as tools.
