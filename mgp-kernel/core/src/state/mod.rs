//! The state directory: its folders, copies of it, and the note of the kernel that uses it.

pub mod copy;
pub mod folder;
pub mod kernel_note;
