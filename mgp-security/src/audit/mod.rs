//! The audit trail (MGP §6): what happened, kept so that no change to it goes unnoticed.
