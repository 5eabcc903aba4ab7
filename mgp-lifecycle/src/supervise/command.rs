//! Orders to a supervisor.

use std::time::Duration;

use mgp_types::mgp::ShutdownReason;
use parking_lot::Mutex;
use tokio::sync::Notify;

/// An order to a supervisor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SupervisorCommand {
    Start,
    Restart { reason: ShutdownReason },
    Stop { reason: ShutdownReason, timeout: Duration },
}

/// The order that waits to be taken. There is one at most: a later order changes the one before.
#[derive(Debug, Default)]
pub(super) struct CommandSlot {
    slot: Mutex<CommandSlotState>,
    given: Notify,
}

#[derive(Debug, Default)]
struct CommandSlotState {
    waiting: Option<SupervisorCommand>,
    /// The count of orders.
    number: u64,
}

impl CommandSlot {
    /// Gives an order, and returns its number. The order is carried out when that number of orders is served.
    pub(super) fn give(&self, order: SupervisorCommand) -> u64 {
        let mut slot = self.slot.lock();
        slot.waiting = Some(slot.waiting.map_or(order, |before| before.then(order)));
        slot.number += 1;
        self.given.notify_one();
        slot.number
    }

    /// Takes the next order and its number.
    pub(super) async fn taken(&self) -> (SupervisorCommand, u64) {
        loop {
            {
                let mut slot = self.slot.lock();
                if let Some(order) = slot.waiting.take() {
                    return (order, slot.number);
                }
            }
            self.given.notified().await;
        }
    }
}

impl SupervisorCommand {
    pub(super) const fn reason(self) -> Option<&'static str> {
        match self {
            Self::Start => None,
            Self::Restart { reason } | Self::Stop { reason, .. } => Some(reason.as_str()),
        }
    }

    /// Returns the order that two orders, one after the other, amount to. No restart is lost.
    const fn then(self, later: Self) -> Self {
        match (self, later) {
            (Self::Restart { .. }, Self::Start) => self,
            (Self::Stop { reason, .. }, Self::Start) => Self::Restart { reason },
            _ => later,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STOP: SupervisorCommand =
        SupervisorCommand::Stop { reason: ShutdownReason::OperatorRequest, timeout: Duration::from_secs(1) };
    const RESTART: SupervisorCommand =
        SupervisorCommand::Restart { reason: ShutdownReason::ConfigurationChange };

    #[tokio::test]
    async fn orders_that_nobody_took_become_one() {
        for (orders, expected) in [
            (vec![RESTART, SupervisorCommand::Start], RESTART),
            (
                vec![STOP, SupervisorCommand::Start],
                SupervisorCommand::Restart { reason: ShutdownReason::OperatorRequest },
            ),
            (vec![SupervisorCommand::Start, STOP], STOP),
            (vec![STOP, RESTART], RESTART),
            (vec![RESTART, STOP], STOP),
        ] {
            let slot = CommandSlot::default();
            let last = orders.iter().map(|order| slot.give(*order)).last().unwrap();
            assert_eq!(slot.taken().await, (expected, last), "{orders:?}");
            assert_eq!(slot.slot.lock().waiting, None);
        }
    }
}
