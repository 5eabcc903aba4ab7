//! The state that the clones of one client share, and its calls.

use std::time::Duration;

use mgp_transport::era::Agreement;
use parking_lot::Mutex;

use crate::connection_handle::ConnectionHandle;
use crate::handlers::{AnswerFn, NotificationListeners, Roots};

/// The state that the clones of one [`Client`](crate::Client) share.
pub(crate) struct ClientShared {
    pub(crate) agreement: Agreement,
    pub(crate) listeners: NotificationListeners,
    /// Held while a subscription waits for its acknowledgement.
    pub(crate) subscribing: tokio::sync::Mutex<()>,
    pub(crate) roots: Roots,
    /// The service that answers the questions of the server's tasks.
    pub(crate) answering: AnswerFn,
    pub(crate) timeouts: (Duration, Duration),
    pub(crate) link: Mutex<Option<ConnectionHandle>>,
}
