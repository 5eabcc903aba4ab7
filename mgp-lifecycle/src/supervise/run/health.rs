//! Asking a connected server for signs of life.

use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::caught::caught;
use crate::chance::Chance;
use crate::supervise::pulse::{Beat, Health, ProbeSchedule, Pulse};
use crate::supervise::supervisor::Probing;

/// Asks again and again, and is done when the server is down.
pub(super) async fn until_down<T: Clone>(
    probing: Option<&Probing<T>>,
    service: &T,
    health: &watch::Sender<Health>,
    chance: &Chance,
) {
    let Some(Probing { settings, ask }) = probing else { return std::future::pending().await };
    let schedule = ProbeSchedule::new(settings.interval);
    let mut pulse = Pulse::new(settings.misses);
    sleep(schedule.first(chance.draw())).await;
    loop {
        let beat = match timeout(settings.answer_within, caught(|| ask(service.clone()))).await {
            Ok(Ok(beat)) => beat,
            Ok(Err(_)) => Beat::NotAsked,
            Err(_) => Beat::Missed,
        };
        let now = pulse.judge(beat);
        health.send_if_modified(|health| std::mem::replace(health, now) != now);
        if now == Health::Down {
            return;
        }
        sleep(schedule.next(chance.draw())).await;
    }
}
