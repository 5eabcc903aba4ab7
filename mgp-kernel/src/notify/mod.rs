//! The notifications to clients: changes of lists, resources and tasks (`changes`), and events on channels (`events`).

pub(crate) mod changes;
pub(crate) mod events;
