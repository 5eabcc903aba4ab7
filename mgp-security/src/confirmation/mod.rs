//! Confirmation: a human's yes to one call, with these arguments, once.
