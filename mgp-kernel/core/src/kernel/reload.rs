//! The reload: another configuration for a kernel that runs.

use std::sync::Arc;

use mgp_discovery::Config;
use mgp_types::mgp::EntryType;

use crate::registration;
use crate::sections::Sections;
use crate::sections::inventory::warn_of_unmatched;
use crate::sections::rules::AccessRules;
use crate::settings::running::ConfigEdit;
use crate::state::kernel_note::KernelNote;
use crate::terminal::Failure;
use crate::{AppliedConfig, StartError, settings};

/// Other configurations are taken each as a whole, or not at all.
impl Sections {
    /// Reads the configuration again, and applies what needs no operator. The next [`accept_config`](Self::accept_config)
    /// reports these changes, too.
    pub(crate) async fn reread_config(&self) -> Result<(), StartError> {
        self.read_and_take(false).await.map(drop)
    }

    /// Reads the configuration again, and applies all of it in the name of an operator. Returns the changes since the last
    /// time. The kernel of a command, which has no source, keeps the configuration for the next kernel.
    pub(crate) async fn accept_config(&self) -> Result<AppliedConfig, StartError> {
        self.read_and_take(true).await
    }

    /// Changes the file to which commands add servers, and takes that in the name of an operator, who decided about nothing
    /// else: while other changes wait, nothing is changed.
    pub(crate) async fn change_config(&self, mut edit: Box<ConfigEdit>) -> Result<AppliedConfig, StartError> {
        let this = self.clone();
        whole(async move {
            this.reread_config().await?;
            if !this.config.waiting().is_empty() {
                return Err(StartError::Config(WAITING.to_owned()));
            }
            let config = Arc::clone(&this.config);
            // Files are written, and a keyring may answer late.
            let change = move || config.source.get().map(|source| source.change(edit.as_mut())).transpose();
            let changed = tokio::task::spawn_blocking(change).await;
            let changed = changed.map_err(|panic| StartError::Config(panic.to_string()))?;
            changed.map_err(|failure| unusable(&failure))?;
            this.accept_config().await
        })
        .await
    }

    async fn read_and_take(&self, accepts: bool) -> Result<AppliedConfig, StartError> {
        let this = self.clone();
        whole(async move {
            // The turn is held from reading to applying.
            let _turn = this.fleet.turn.lock().await;
            let held = match this.config.source.get() {
                Some(source) => this.config.held(source.read().map_err(|failure| unusable(&failure))?),
                None if accepts => {
                    let accepted = this.config.waiting();
                    let _ = this.config.accept();
                    return Ok(AppliedConfig { accepted, ..AppliedConfig::default() });
                }
                None => return Err(StartError::Config(NO_SOURCE.to_owned())),
            };
            let applied = this.take(if accepts { this.config.accept() } else { held }).await?;
            tracing::info!(
                added = applied.added.len(),
                changed = applied.changed.len(),
                removed = applied.removed.len(),
                "the configuration was reloaded"
            );
            this.keep_note(&applied);
            let mut unreported = this.fleet.unreported.lock();
            let since_last = std::mem::take(&mut *unreported).followed_by(applied);
            if !accepts {
                *unreported = since_last.clone();
            }
            Ok(since_last)
        })
        .await
    }

    /// Writes the note by which clients and commands see what a kernel that serves has read of its configuration.
    fn keep_note(&self, applied: &AppliedConfig) {
        if self.lifecycle.served.get().is_some()
            && !self.lifecycle.is_stopping()
            && let Some(note) = KernelNote::read(self.config.state())
        {
            let note = note.with_config(&self.config.wanted());
            let note = note.with_waiting(self.config.waiting_when_read().to_vec());
            note.with_outdated(applied.needs_restart.clone()).keep(self.config.state());
        }
    }

    /// Takes a new configuration; if it asks for something that there is not, everything stays as it was.
    pub(crate) async fn reconfigure(&self, config: Config) -> Result<AppliedConfig, StartError> {
        let this = self.clone();
        whole(async move {
            let _turn = this.fleet.turn.lock().await;
            this.take(config).await
        })
        .await
    }

    async fn take(&self, wanted: Config) -> Result<AppliedConfig, StartError> {
        let old = self.config.load_full();
        let config = takeable(wanted.clone(), &old);
        let rules = AccessRules::of(&config, self.audit.clock.now())?;
        settings::check_token_holders(&config)?;
        let groups = self.policies.access.groups();
        let scopes = settings::scopes(&config)?.with_groups(groups.clone());
        let all = old.permissions != config.permissions
            || old.confirmation != config.confirmation
            || old.validators != config.validators;
        let (needs_restart, settings) =
            (config.settings_changed_in(&wanted), old.settings_changed_in(&config));
        self.config.store(Arc::new(config));
        let config = self.config.load();
        // The rules hold before there is a new server that somebody may not use, and not before it is known that there
        // can be one.
        let taken = async {
            let prepared = self.fleet.prepare(&config.servers, all)?;
            rules.hold(&self.policies.access, &self.changes, &self.audit.clock).await?;
            if groups.set(settings::groups(&config)) {
                self.changes.may_use_others(None, EntryType::ServerGrant);
            }
            self.policies.scopes.set(scopes);
            Ok::<_, StartError>(self.fleet.install(prepared))
        };
        let applied = taken.await.inspect_err(|_| self.config.store(Arc::clone(&old)))?;
        self.policies.asks.set(config.ask.clone());
        self.policies.flows.only_record(!config.confirmation.flows);
        self.policies.limit.set(settings::agent_limits(&config).with_groups(groups.clone()));
        self.registry.set_policy(registration::policy(&config, self.policies.access.groups()));
        if !needs_restart.is_empty() {
            tracing::warn!(
                sections = needs_restart.join(", "),
                "these sections changed and take effect when the kernel restarts: `mgp restart`"
            );
        }
        warn_of_unmatched(self);
        Ok(AppliedConfig { settings, needs_restart, ..applied })
    }
}

fn unusable(failure: &Failure) -> StartError {
    StartError::Config(failure.message().to_owned())
}

/// Runs the work to its end, even if the caller stops waiting: half a configuration would be none.
async fn whole<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> T {
    tokio::spawn(work).await.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()))
}

/// Returns the configuration that a kernel that runs with `running` can take: the parts of `wanted` that can change,
/// and all else as it runs.
fn takeable(wanted: Config, running: &Config) -> Config {
    let mut config = wanted;
    let running = running.clone();
    for agent in &mut config.agents {
        agent.stdio = running.agents.iter().any(|known| known.id == agent.id && known.stdio);
    }
    config.listen = running.listen;
    let (keep_days, keep_bytes) = (config.audit.keep_days, config.audit.keep_bytes);
    config.audit = running.audit;
    (config.audit.keep_days, config.audit.keep_bytes) = (keep_days, keep_bytes);
    config.effects = running.effects;
    config.tools = running.tools;
    config.ui = running.ui;
    config.validators.first_use = running.validators.first_use;
    config.limits.agent_concurrency = running.limits.agent_concurrency;
    config.telemetry.log = running.telemetry.log;
    config.telemetry.otlp = running.telemetry.otlp;
    config.telemetry.otlp_headers = running.telemetry.otlp_headers;
    config.telemetry.otlp_logs = running.telemetry.otlp_logs;
    config.store = running.store;
    config.cluster = running.cluster;
    config.kernel.state = running.kernel.state;
    config.kernel.drain_secs = running.kernel.drain_secs;
    config.kernel.linger = running.kernel.linger;
    config
}

/// The reason why an operator's change of the configuration is not made.
const WAITING: &str =
    "other changes of the configuration wait for the operator passphrase; apply them first: mgp reload";

/// The reason why a kernel that got its configuration from the program that it is part of reads none.
const NO_SOURCE: &str = "the kernel has no file that it could read anew";

#[cfg(test)]
mod tests {
    use mgp_types::Principal;
    use mgp_types::mgp::{AccessGrant, AccessPermission};

    use crate::test_kernel::TestKernel;

    #[tokio::test]
    async fn for_how_long_the_record_is_kept_is_taken_without_a_restart() {
        let scene = TestKernel::with("{}").await;
        let changes = scene.sections.config.changes.subscribe();
        let wanted = serde_json::from_str(r#"{"audit":{"keep_days":7,"keep_bytes":90000}}"#).unwrap();
        let applied = scene.sections.reconfigure(wanted).await.unwrap();
        assert!(!applied.needs_restart.contains(&"audit".to_owned()), "{applied:?}");
        let kept = scene.sections.config.load_full();
        assert_eq!((kept.audit.keep_days, kept.audit.keep_bytes), (Some(7), Some(90_000)));
        assert!(changes.has_changed().unwrap(), "those who remove events are told");
    }

    #[tokio::test]
    async fn what_cannot_be_taken_leaves_what_operators_said_as_it_was() {
        let scene = TestKernel::with(r#"{"access":{"default":"opt-out"}}"#).await;
        let denied = AccessGrant::new("one".into(), "files".into(), AccessPermission::Deny);
        scene.policies.access.grant(&Principal::operator("root"), None, denied).await.unwrap();
        let rule = r#"{"agent":"one","server":"files","permission":"allow"}"#;
        let servers = r#"{"id":"a","command":"x"},{"id":"a","command":"y"}"#;
        let wanted =
            format!(r#"{{"access":{{"default":"opt-out","rules":[{rule}]}},"servers":[{servers}]}}"#);
        let refused = scene.sections.reconfigure(serde_json::from_str(&wanted).unwrap()).await;
        assert!(refused.unwrap_err().to_string().contains("two servers"));
        assert!(!scene.policies.access.decide("one", "files", None).allows());
        assert_eq!(scene.policies.access.entries()[0].entry.granted_by, "root");
    }
}
