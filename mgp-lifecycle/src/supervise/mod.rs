//! Servers that are kept alive (MGP §11.2, §11.5).
