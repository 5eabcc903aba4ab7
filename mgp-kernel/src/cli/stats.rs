use super::exit::{Exit, Failure};
use super::link::{Link, Need};
use super::output::Output;
use super::place::Place;
use crate::operator::method;
use crate::operator::stats::Stats;

pub(super) async fn run(place: &Place, output: &Output) -> Result<Exit, Failure> {
    let link = Link::open(place, Need::Servers).await?;
    let stats: Result<Stats, Failure> = link.ask(method::STATS, &()).await;
    link.close().await;
    output.table(&stats?, "", |stats, table| {
        for (what, count) in [
            ("servers", stats.servers),
            ("tools", stats.tools),
            ("tokens of all definitions", stats.tool_tokens),
            ("events in the record", stats.audit_events),
            ("questions that wait", stats.pending),
            ("seconds up", stats.uptime_secs),
        ] {
            table.row([what.to_owned(), count.to_string()]);
        }
    })?;
    Ok(Exit::Done)
}
