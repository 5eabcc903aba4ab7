//! What is done again whenever the tools of an instance change, or the instance comes back.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use mgp_types::Error;
use tokio::time::{Instant, sleep, timeout};

use super::remote::RemoteKernel;

/// What depends on the tools of an instance.
#[async_trait]
pub(super) trait FollowsTools: Send {
    /// Returns the instance.
    fn remote(&self) -> &Arc<RemoteKernel>;

    /// Looks at the tools that the instance has now, and does what follows from them.
    async fn renew(&mut self) -> Result<(), Error>;
}

/// Renews `follower` now, after each change of the tools of its instance, once the instance is there again, and at least
/// every minute. Never returns.
pub(super) async fn follow(mut follower: impl FollowsTools) {
    let mut pause = SHORTEST_PAUSE;
    loop {
        let began = Instant::now();
        if let Err(error) = renew_until_failure(&mut follower).await {
            tracing::warn!(instance = follower.remote().name(), %error, "the tools of an instance are not followed");
        }
        pause = if began.elapsed() > LONGEST_PAUSE { SHORTEST_PAUSE } else { (pause * 2).min(LONGEST_PAUSE) };
        sleep(pause).await;
    }
}

async fn renew_until_failure(follower: &mut impl FollowsTools) -> Result<(), Error> {
    // What changes while `renew` runs is told afterwards.
    let mut changes = follower.remote().changes().await?;
    loop {
        follower.renew().await?;
        match timeout(LONGEST_UNNOTICED, changes.next()).await {
            Ok(Some(Ok(_))) | Err(_) => {}
            Ok(Some(Err(error))) => return Err(error),
            Ok(None) => return Ok(()),
        }
    }
}

const SHORTEST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
const LONGEST_UNNOTICED: Duration = Duration::from_mins(1);
