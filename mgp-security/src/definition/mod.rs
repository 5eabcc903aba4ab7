//! The definitions of tools: pinned, compared, and searched for hidden instructions.
