use std::collections::VecDeque;
use std::task::{Context, Poll};

use tokio::sync::mpsc;

use super::task::Report;
use super::wire::Outgoing;

/// What our side wants sent, in the order it was made: messages and reports come through two channels, and a report
/// goes behind the messages that its maker sent before it.
pub(super) struct Queue {
    messages: mpsc::Receiver<Outgoing>,
    reports: mpsc::UnboundedReceiver<Report>,
    /// Reports, and how many messages have been taken when it is their turn.
    reported: VecDeque<(u64, Report)>,
    /// How many messages were taken so far.
    taken: u64,
}

impl Queue {
    pub(super) fn new(messages: mpsc::Receiver<Outgoing>, reports: mpsc::UnboundedReceiver<Report>) -> Self {
        Self { messages, reports, reported: VecDeque::new(), taken: 0 }
    }

    /// The next report that has come, if it is its turn already; most often nothing was sent before it.
    #[inline]
    pub(super) fn poll_report(&mut self, cx: &mut Context<'_>) -> Poll<Report> {
        while let Poll::Ready(Some(report)) = self.reports.poll_recv(cx) {
            // Whatever the reporter sent is in the channel by now.
            let ahead = self.messages.len();
            if ahead == 0 {
                return Poll::Ready(report);
            }
            self.reported.push_back((self.taken + ahead as u64, report));
        }
        Poll::Pending
    }

    /// The next report whose turn it is now.
    #[inline]
    pub(super) fn due(&mut self) -> Option<Report> {
        let (turn, _) = self.reported.front()?;
        if *turn > self.taken {
            return None;
        }
        self.reported.pop_front().map(|(_, report)| report)
    }

    /// The next message.
    #[inline]
    pub(super) fn poll_message(&mut self, cx: &mut Context<'_>) -> Poll<Outgoing> {
        match self.messages.poll_recv(cx) {
            Poll::Ready(Some(message)) => {
                self.taken += 1;
                Poll::Ready(message)
            }
            _ => Poll::Pending,
        }
    }

    /// Whether no message waits.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// The messages that wait now.
    pub(super) fn waiting(&mut self) -> impl Iterator<Item = Outgoing> + use<> {
        let mut waiting = Vec::with_capacity(self.messages.len());
        while waiting.len() < waiting.capacity()
            && let Ok(message) = self.messages.try_recv()
        {
            self.taken += 1;
            waiting.push(message);
        }
        waiting.into_iter()
    }
}
