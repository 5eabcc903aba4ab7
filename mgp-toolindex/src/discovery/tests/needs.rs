//! Tests of needs: tools of many kinds, needs that one of them meets, and needs that none meets although some tool
//! shares a word with them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use mgp_types::Context;
use mgp_types::mgp::ToolContextBudget;
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::world::{Peer, World, tool};
use crate::discovery::{ToolDiscoverySettings, ToolVisibility};
use crate::embed::StaticEmbedder;
use crate::{ServerTools, Tool};

/// A question of the set, with the tools that meet each of its needs.
#[derive(serde::Deserialize)]
struct Question {
    text: String,
    needs: Vec<Vec<String>>,
}

const TOOLS: &[(&str, &str)] = &[
    ("resize_photo", "Change the width and height of a photo"),
    ("remove_background", "Cut the subject of a photo out of its background"),
    ("transcribe_audio", "Turn recorded speech into text"),
    ("translate_document", "Translate a document from one language into another"),
    ("create_invoice", "Create an invoice for a customer with positions and taxes"),
    ("list_invoices", "List the invoices of a customer, the newest first"),
    ("refund_payment", "Give a customer the money of a payment back"),
    ("book_meeting_room", "Reserve a meeting room for a time of the day"),
    ("create_calendar_event", "Put an appointment into the calendar and invite people"),
    ("get_weather_forecast", "Weather forecast of the next days for a city"),
    ("search_flights", "Find flights between two airports on a date"),
    ("run_sql_query", "Run a SQL query against the warehouse and return its rows"),
    ("list_tables", "List the tables of the database with their columns"),
    ("open_pull_request", "Open a pull request on a repository for a branch"),
    ("list_commits", "List the commits of a repository on a branch"),
    ("restart_container", "Stop a container and start it again"),
    ("tail_logs", "Show the last lines that a container logged"),
    ("send_sms", "Send a short text message to a phone number"),
    ("geocode_address", "Find the latitude and longitude of an address"),
    ("convert_currency", "Convert an amount of money from one currency into another"),
];

const NEEDS: &[(&str, Option<&str>)] = &[
    ("resize photo", Some("resize_photo")),
    ("remove photo background", Some("remove_background")),
    ("transcribe recorded speech", Some("transcribe_audio")),
    ("translate_document", Some("translate_document")),
    ("create an invoice for a customer", Some("create_invoice")),
    ("refund a payment", Some("refund_payment")),
    ("reserve a meeting room", Some("book_meeting_room")),
    ("weather_forecast", Some("get_weather_forecast")),
    ("find flights between airports", Some("search_flights")),
    ("sql query", Some("run_sql_query")),
    ("open pull request", Some("open_pull_request")),
    ("restart container", Some("restart_container")),
    ("send text message to phone", Some("send_sms")),
    ("convert currency", Some("convert_currency")),
    ("print a shipping label on a thermal printer", None),
    ("sequence alignment of proteins", None),
    ("tune a guitar", None),
    ("face recognition", None),
    ("rotate encryption keys of storage", None),
    ("water the plants on the balcony", None),
    ("play chess moves", None),
    ("render 3d meshes", None),
    ("detect plagiarism", None),
    ("blood pressure measurement", None),
    ("container ship tracking", None),
    ("stock portfolio optimization", None),
];

/// A policy that hides some tools.
#[derive(Debug, Default)]
struct Blind {
    hidden: Mutex<Vec<String>>,
    revision: AtomicU64,
}

impl Blind {
    fn to(&self, tools: &[String]) {
        *self.hidden.lock() = tools.to_vec();
        self.revision.fetch_add(1, Ordering::Relaxed);
    }
}

impl ToolVisibility for Blind {
    fn sees(&self, _: &Context, tool: &Tool) -> bool {
        !self.hidden.lock().contains(&tool.id())
    }

    fn revision(&self, _: &Context) -> u64 {
        self.revision.load(Ordering::Relaxed)
    }
}

/// Returns a gateway whose tools have vectors.
async fn world(eyes: &Arc<Blind>, servers: Vec<ServerTools>) -> World {
    let settings = ToolDiscoverySettings::new().eyes(Arc::clone(eyes) as Arc<dyn ToolVisibility>);
    World::of(settings, ToolContextBudget::default(), Arc::new(StaticEmbedder::new()), servers).await
}

/// Returns the tool that meets a capability, if there is one.
async fn meets(world: &World, capability: &str) -> Option<String> {
    let params = json!({ "requirements": { "capabilities": [capability] } });
    let answer = world.method(&Peer::mgp(), "mgp/tools/request", params).await.unwrap();
    let loaded = &answer["tools_loaded"][0];
    let (server, name) = (loaded["server_id"].as_str()?, loaded["name"].as_str()?);
    // Where another server has a tool of that name, the name is the id already.
    let id = format!("{server}.");
    Some(if name.starts_with(&id) { name.to_owned() } else { id + name })
}

/// Returns the tools of the folder `data`.
fn data() -> Vec<ServerTools> {
    let mut servers: Vec<ServerTools> = Vec::new();
    for line in include_str!("../../../data/tools.jsonl").lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let id = row["server"].as_str().unwrap();
        if servers.last().is_none_or(|server| server.server.id.as_str() != id) {
            let description = row["serverDescription"].as_str().unwrap();
            servers.push(ServerTools::new(id, Vec::new()).description(description));
        }
        let (name, description) = (row["name"].as_str().unwrap(), row["description"].as_str().unwrap());
        let tool = tool(name, description, &row["inputSchema"]["properties"]);
        servers.last_mut().unwrap().tools.push(tool);
    }
    servers
}

fn trades() -> ServerTools {
    ServerTools::new("trades", TOOLS.iter().map(|(name, says)| tool(name, says, &json!({}))).collect())
}

/// Searches by words alone among few tools, and by words and meaning among many.
#[tokio::test]
async fn needs_are_met_by_the_tools_that_meet_them_and_by_no_others() {
    let few = World::new().await;
    for server in ["files", "data", "pictures", "mail", "chat"] {
        few.index.remove_server(server.into()).await;
    }
    few.index.put_server(trades()).await;
    few.index.settled().await;
    let many = world(&Arc::default(), [vec![trades()], data()].concat()).await;
    for world in [few, many] {
        let (mut missed, mut wrong) = (Vec::new(), Vec::new());
        for (need, expected) in NEEDS {
            let met = meets(&world, need).await;
            match (met, expected) {
                (Some(met), Some(expected)) if met == format!("trades.{expected}") => {}
                (None, None) => {}
                (None, Some(_)) => missed.push(need),
                (Some(met), _) => wrong.push(format!("{need}: {met}")),
            }
        }
        println!("missed {missed:?}, wrong {wrong:?}");
        assert!(missed.len() <= 1, "{missed:?}");
        assert!(wrong.len() <= 2, "{wrong:?}");
    }
}

/// Whole sentences are harder than names of capabilities. Each question is asked twice: with the tools that answer it,
/// and without them.
#[tokio::test]
async fn of_sentences_more_are_met_by_the_right_tool_than_by_others_where_it_is_missing() {
    let eyes = Arc::new(Blind::default());
    let world = world(&eyes, data()).await;
    let lines = include_str!("../../../data/questions.jsonl").lines();
    let questions: Vec<Question> = lines.map(|line| serde_json::from_str(line).unwrap()).collect();
    let (mut asked, mut right, mut wrong, mut instead) = (0.0, 0.0, 0.0, 0.0);
    for question in questions.iter().filter(|question| question.needs.len() == 1) {
        asked += 1.0;
        eyes.to(&[]);
        match meets(&world, &question.text).await {
            Some(tool) if question.needs[0].contains(&tool) => right += 1.0,
            Some(_) => wrong += 1.0,
            None => {}
        }
        eyes.to(&question.needs[0]);
        instead += f64::from(u8::from(meets(&world, &question.text).await.is_some()));
    }
    let (recall, precision) = (right / asked, right / (right + wrong));
    println!("{asked} sentences: recall {recall:.3}, precision {precision:.3}");
    println!("where the tools are missing, met by others: {:.3}", instead / asked);
    assert!(asked > 150.0);
    assert!(recall > 0.25, "{recall}");
    assert!(precision > 0.8, "{precision}");
    assert!(instead / asked < 0.12, "{instead}");
}
