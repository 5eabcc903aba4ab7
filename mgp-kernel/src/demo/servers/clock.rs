//! The demo's clock server.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use mgp_server_sdk::{Server, Tool, ToolError};
use mgp_types::mgp::Timestamp;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Wait {
    /// How long to wait, at most ten seconds.
    seconds: f64,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Between {
    /// Seconds since 1970 at which it begins.
    start: i64,
    /// Seconds since 1970 at which it ends.
    end: i64,
}

pub(super) fn server() -> Server {
    Server::new("clock", "1.0.0")
        .tool(Tool::new("now", "Tells the current date and time in UTC.").read_only(), async || {
            Timestamp::now().to_string()
        })
        .tool(Tool::new("unix_time", "Tells the seconds since 1970.").read_only(), async || {
            SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
        })
        .tool(
            Tool::new("time_between", "Tells how long it is from one time to another.").read_only(),
            between,
        )
        .tool(Tool::new("wait", "Waits for some seconds, like a timer.").read_only(), wait)
}

async fn between(Between { start, end }: Between) -> Result<String, ToolError> {
    let seconds = end.checked_sub(start).ok_or_else(|| ToolError::new("the times lie too far apart"))?;
    let (sign, seconds) = (if seconds < 0 { "-" } else { "" }, seconds.unsigned_abs());
    Ok(format!("{sign}{}h {}m {}s", seconds / 3600, seconds / 60 % 60, seconds % 60))
}

async fn wait(Wait { seconds }: Wait) -> Result<&'static str, ToolError> {
    let time =
        Duration::try_from_secs_f64(seconds).map_err(|_| ToolError::new("no such time can be waited"))?;
    if time > LONGEST {
        return Err(ToolError::new("waits ten seconds at the most"));
    }
    tokio::time::sleep(time).await;
    Ok("done")
}

const LONGEST: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn times_are_subtracted() {
        assert_eq!(between(Between { start: 0, end: 3_725 }).await.unwrap(), "1h 2m 5s");
        assert_eq!(between(Between { start: 60, end: 0 }).await.unwrap(), "-0h 1m 0s");
        assert!(between(Between { start: i64::MIN, end: 1 }).await.is_err());
    }

    #[tokio::test]
    async fn nobody_waits_for_ever() {
        assert!(wait(Wait { seconds: 11.0 }).await.is_err());
        assert!(wait(Wait { seconds: f64::NAN }).await.is_err());
        assert_eq!(wait(Wait { seconds: 0.0 }).await.unwrap(), "done");
    }
}
