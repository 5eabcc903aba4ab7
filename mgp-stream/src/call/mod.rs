//! Streamed results, progress and cancellation (MGP §12).
