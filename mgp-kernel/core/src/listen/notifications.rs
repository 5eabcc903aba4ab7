//! Notifications: the desktop, programs and webhooks that show people that a question waits.

use std::collections::BTreeSet;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use mgp_discovery::config::model::Notification;
use mgp_security::network::{Fetcher, NetworkPolicy};
use mgp_security::permission::{ApprovalId, PendingApproval, PendingApprovals};
use serde::Serialize;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use crate::admin::questions::OpenQuestion;
use crate::lifecycle::wait_for_stop;
use crate::sections::Sections;
use crate::settings::running::{AcceptedConfig, RunningConfig};
use crate::telemetry::json_receiver::signed;
use crate::terminal::printable;

/// Notifies people of each question that is asked, as the configuration in effect says, until `stopped` says so. Without any
/// configuration, the desktop shows the question.
pub(crate) async fn notify(sections: Sections, stopped: watch::Receiver<bool>) {
    let pending = &sections.policies.pending;
    let mut asked = pending.asked();
    let mut known = ids(&pending.list());
    let mut sent = JoinSet::new();
    let mut shown: Option<Instant> = None;
    loop {
        tokio::select! {
            changed = asked.changed() => if changed.is_err() { return },
            Some(_) = sent.join_next() => continue,
            () = wait_for_stop(stopped.clone()) => return,
        }
        let open = pending.list();
        let config = sections.config.load_full();
        // Of a question that was asked at another kernel, that one notifies people.
        let is_new =
            |question: &&PendingApproval| question.is_asked_here && !known.contains(question.id.as_str());
        for question in open.iter().filter(is_new) {
            let notice = || QuestionNotice {
                question: OpenQuestion::of(question.clone()),
                link: pending.link(&question.id),
            };
            // Many questions at once are one notification: the places that it names list all of them.
            if config.approvals.notify.is_empty()
                && has_desktop()
                && shown.is_none_or(|last| last.elapsed() >= BETWEEN_SHOWN)
            {
                shown = Some(Instant::now());
                let notice = notice();
                sent.spawn(async move { notice.show().await });
            }
            for way in &config.approvals.notify {
                if sent.len() >= MAX_AT_ONCE {
                    tracing::warn!(
                        question = question.id.as_str(),
                        "too many notifications are on their way"
                    );
                    break;
                }
                sent.spawn(notice().send(way.clone(), pending.clone(), Arc::clone(&sections.config)));
            }
        }
        known = ids(&open);
    }
}

fn ids(questions: &[PendingApproval]) -> BTreeSet<String> {
    questions.iter().map(|question| question.id.as_str().to_owned()).collect()
}

/// A question, as people are told of it.
#[derive(Serialize)]
struct QuestionNotice {
    #[serde(flatten)]
    question: OpenQuestion,
    /// The address at which a person answers, where the page is served.
    #[serde(skip_serializing_if = "Option::is_none")]
    link: Option<String>,
}

impl QuestionNotice {
    async fn send(self, way: Notification, pending: PendingApprovals, config: Arc<RunningConfig>) {
        let outcome = match &way.command[..] {
            [program, args @ ..] => self.run(program, args).await,
            [] => self.post(&way, &pending, &config.accepted).await,
        };
        if let Err(why) = outcome {
            tracing::warn!(question = self.question.id, why, "nobody was notified of a question");
        }
    }

    /// Shows the question on the desktop.
    async fn show(&self) {
        let first = self.question.message.lines().next().unwrap_or_default();
        let at = self.link.as_deref().unwrap_or("mgp watch");
        let text = format!("{}\nAnswer: {at}", printable(first));
        let outcome = if cfg!(target_os = "macos") {
            self.run(
                "osascript",
                &SCRIPT.into_iter().chain([TITLE, &text]).map(str::to_owned).collect::<Vec<_>>(),
            )
            .await
        } else {
            // Desktops take the text for markup.
            let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
            self.run("notify-send", &["--app-name=mgp", "--", TITLE, &text].map(str::to_owned)).await
        };
        if let Err(why) = outcome {
            tracing::debug!(question = self.question.id, why, "the desktop does not show a question");
        }
    }

    /// Runs a program that tells people.
    async fn run(&self, program: &str, args: &[String]) -> Result<(), String> {
        let command = format!("mgp permissions show {}", self.question.id);
        let mut child = Command::new(program)
            .args(args)
            .env("MGP_QUESTION", printable(&self.question.message))
            .env("MGP_ANSWER", self.link.as_ref().unwrap_or(&command))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| format!("{program}: {error}"))?;
        let ended = async {
            if let Some(mut input) = child.stdin.take() {
                // A program may end without reading.
                let _ = input.write_all(self.json().as_bytes()).await;
            }
            child.wait().await
        };
        match timeout(COMMAND_TAKES, ended).await {
            Ok(Ok(status)) if status.success() => Ok(()),
            Ok(Ok(status)) => Err(format!("{program}: {status}")),
            Ok(Err(error)) => Err(format!("{program}: {error}")),
            Err(_) => Err(format!("{program} took too long")),
        }
    }

    /// Posts the question to a webhook, again and again where that fails, as long as it waits.
    async fn post(
        &self,
        way: &Notification,
        pending: &PendingApprovals,
        accepted: &AcceptedConfig,
    ) -> Result<(), String> {
        let (url, secret) = way.expanded_webhook(accepted).map_err(|fault| fault.to_string())?;
        let policy = NetworkPolicy::default().allow_host_of(url.expose());
        let fetcher = Fetcher::new(policy).map_err(|error| error.message().to_owned())?;
        let body = self.json();
        let mut failed = String::new();
        for seconds in RETRY_SECS {
            sleep(Duration::from_secs(seconds)).await;
            let id = ApprovalId::from(&*self.question.id);
            if pending.find(&id).is_none_or(|question| question.answer.is_some()) {
                return Ok(());
            }
            let id = format!("mgp_{}_{}", self.question.id, self.question.asked_at.as_millis());
            let headers = signed(secret.expose(), &id, &body)
                .ok_or("`approvals.notify.secret` is no Base64 behind `whsec_`")?;
            failed = match fetcher.post_json(url.expose(), &headers, body.clone()).await {
                Ok(answer) if answer.status.is_success() => return Ok(()),
                Ok(answer) if answer.status == StatusCode::GONE => {
                    return Err("the webhook is gone".to_owned());
                }
                Ok(answer) => format!("the webhook answered {}", answer.status),
                Err(error) => format!("the webhook did not answer: {error}"),
            };
        }
        Err(failed)
    }

    fn json(&self) -> String {
        let event = serde_json::json!({
            "type": "mgp.question.asked",
            "timestamp": self.question.asked_at,
            "data": self,
        });
        event.to_string()
    }
}

/// Returns whether this process belongs to a desktop session that shows notifications.
fn has_desktop() -> bool {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    cfg!(target_os = "macos") || cfg!(unix) && ["WAYLAND_DISPLAY", "DISPLAY"].into_iter().any(is_set)
}

const TITLE: &str = "mgp needs your approval";
/// The script that shows a notification of its two arguments, title and text.
const SCRIPT: [&str; 6] = [
    "-e",
    "on run argv",
    "-e",
    "display notification (item 2 of argv) with title (item 1 of argv)",
    "-e",
    "end run",
];
/// The shortest time between two notifications on the desktop.
const BETWEEN_SHOWN: Duration = Duration::from_secs(10);

/// The largest number of notifications on their way.
const MAX_AT_ONCE: usize = 1_024;
const COMMAND_TAKES: Duration = Duration::from_secs(30);
/// The seconds before each attempt to reach a webhook.
const RETRY_SECS: [u64; 6] = [0, 1, 10, 60, 300, 1_800];
