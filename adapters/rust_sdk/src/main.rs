//! An adapter of `fencepost certify-client` around the state store client of the Rust SDK.
//!
//! Commands come as JSON Lines on standard input, results go to standard output: docs/CLIENTS.md.
//! What the SDK leaves to its caller is done here as its documentation says: an observation that has
//! ended with the connection is made again, and so is a session that has ended because the broker had
//! forgotten it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use azure_iot_operations_mqtt::aio::connection_settings::MqttConnectionSettingsBuilder;
use azure_iot_operations_mqtt::session::{Session, SessionExitHandle, SessionMonitor, SessionOptionsBuilder};
use azure_iot_operations_protocol::application::ApplicationContextBuilder;
use azure_iot_operations_protocol::common::hybrid_logical_clock::HybridLogicalClock;
use azure_iot_operations_services::leased_lock::{self, lease, lock};
use azure_iot_operations_services::state_store::{
    Client, ClientOptionsBuilder, Error, ErrorKind, KeyObservation, Operation, SetCondition, SetOptions,
};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::sync::{Mutex as AsyncMutex, mpsc};
use tokio::task::{AbortHandle, JoinHandle};
use tokio::time::timeout;

const CAPABILITIES: [&str; 17] = [
    "set", "get", "del", "vdel", "observe", "conditions", "expiry", "tokens", "versions", "concurrent", "reconnects",
    "error-text", "binary", "locks", "lock-waits", "lock-renewal", "lock-holder",
];
const RETRY: Duration = Duration::from_millis(200);
const SOON: Duration = Duration::from_millis(5);

struct Failure {
    kind: &'static str,
    text: String,
}

fn failure(kind: &'static str, text: impl ToString) -> Failure {
    Failure { kind, text: text.to_string() }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let kind = match error.kind() {
            ErrorKind::ServiceError(_) => "service",
            ErrorKind::InvalidArgument(_) => "argument",
            ErrorKind::AIOProtocolError(_) => "protocol",
            _ => "reply",
        };
        failure(kind, error)
    }
}

impl From<leased_lock::Error> for Failure {
    fn from(error: leased_lock::Error) -> Self {
        let kind = match error.kind() {
            leased_lock::ErrorKind::ServiceError(_) => "service",
            leased_lock::ErrorKind::InvalidArgument(_) => "argument",
            leased_lock::ErrorKind::AIOProtocolError(_) => "protocol",
            _ => "reply",
        };
        failure(kind, error)
    }
}

// The helpers of the SDK for one lock and one holder: one makes a single attempt, the other waits.
struct Helpers {
    lease: lease::Client,
    lock: lock::Client,
    has_waited: AtomicBool, // it is the other one that holds the lock
}

struct Link {
    client: Arc<Client>,
    locks: HashMap<(Vec<u8>, Vec<u8>), Arc<Helpers>>,
    exit: SessionExitHandle,
    session: JoinHandle<()>,
}

struct Sdk {
    link: Mutex<Link>,
    leaves: AtomicBool,
    observed: Mutex<HashMap<Vec<u8>, AbortHandle>>, // who passes on the notifications of a key
    notes: AsyncMutex<mpsc::UnboundedReceiver<Value>>,
    tell: mpsc::UnboundedSender<Value>,
}

fn open(command: &Value) -> Result<(Link, SessionMonitor), Failure> {
    let text = |name: &str| command[name].as_str().unwrap_or_default().to_string();
    let settings = MqttConnectionSettingsBuilder::default()
        .client_id(text("client_id"))
        .hostname(text("host"))
        .tcp_port(u16::try_from(command["port"].as_u64().unwrap_or_default()).unwrap_or_default())
        .use_tls(false)
        .build()
        .map_err(|error| failure("argument", error))?;
    let options = SessionOptionsBuilder::default()
        .connection_settings(settings)
        .build()
        .map_err(|error| failure("argument", error))?;
    let session = Session::new(options).map_err(|error| failure("connection", error))?;
    let context = ApplicationContextBuilder::default().build().map_err(|error| failure("argument", error))?;
    let options = ClientOptionsBuilder::default().build().map_err(|error| failure("argument", error))?;
    let client = Client::new(context, session.create_managed_client(), session.create_session_monitor(), options)?;
    let (monitor, exit) = (session.create_session_monitor(), session.create_exit_handle());
    let session = tokio::spawn(async move {
        let _ = session.run().await;
    });
    Ok((Link { client: Arc::new(client), locks: HashMap::new(), exit, session }, monitor))
}

// As long as anybody is interested.
async fn begin_again(sdk: Weak<Sdk>, command: Value) {
    while let Some(sdk) = sdk.upgrade() {
        if sdk.leaves.load(Ordering::Relaxed) {
            return;
        }
        sdk.renew(&command);
        drop(sdk);
        tokio::time::sleep(SOON).await;
    }
}

impl Sdk {
    async fn connect(command: &Value, within: Duration) -> Result<Arc<Self>, Failure> {
        let (link, monitor) = open(command)?;
        let (tell, notes) = mpsc::unbounded_channel();
        let (link, observed) = (Mutex::new(link), Mutex::new(HashMap::new()));
        let sdk = Arc::new(Sdk { link, leaves: AtomicBool::new(false), observed, notes: AsyncMutex::new(notes), tell });
        timeout(within, monitor.connected()).await.map_err(|_| failure("connection", "no connection"))?;
        tokio::spawn(begin_again(Arc::downgrade(&sdk), command.clone()));
        Ok(sdk)
    }

    fn renew(&self, command: &Value) {
        let mut link = self.link.lock().unwrap();
        if link.session.is_finished() && !self.leaves.load(Ordering::Relaxed) {
            if let Ok((another, _)) = open(command) {
                *link = another;
            }
        }
    }

    fn client(&self) -> Arc<Client> {
        self.link.lock().unwrap().client.clone()
    }

    fn is_over(&self) -> bool {
        self.link.lock().unwrap().session.is_finished()
    }

    async fn disconnect(&self) {
        for (_, task) in self.observed.lock().unwrap().drain() {
            task.abort();
        }
        {
            let link = self.link.lock().unwrap();
            self.leaves.store(true, Ordering::Relaxed);
            if link.exit.try_exit().is_err() {
                link.exit.force_exit();
            }
        }
        let ended = async {
            while !self.is_over() {
                tokio::time::sleep(SOON).await;
            }
        };
        if timeout(Duration::from_secs(1), ended).await.is_err() {
            self.link.lock().unwrap().session.abort();
        }
    }

    async fn observe(self: &Arc<Self>, key: Vec<u8>, within: Duration) -> Result<Value, Failure> {
        let observation = self.client().observe(key.clone(), within).await?.response;
        let task = tokio::spawn(pass_on(self.clone(), key.clone(), observation)).abort_handle();
        if let Some(old) = self.observed.lock().unwrap().insert(key, task) {
            old.abort();
        }
        Ok(json!({}))
    }

    async fn unobserve(&self, key: Vec<u8>, within: Duration) -> Result<Value, Failure> {
        self.client().unobserve(key.clone(), within).await?;
        if let Some(task) = self.observed.lock().unwrap().remove(&key) {
            task.abort();
        }
        Ok(json!({}))
    }

    fn helpers(&self, name: Vec<u8>, holder: Vec<u8>) -> Result<Arc<Helpers>, Failure> {
        let mut link = self.link.lock().unwrap();
        if let Some(found) = link.locks.get(&(name.clone(), holder.clone())) {
            return Ok(found.clone());
        }
        let lease = lease::Client::new(link.client.clone(), name.clone(), holder.clone())?;
        let lock = lock::Client::new(link.client.clone(), name.clone(), holder.clone())?;
        let made = Arc::new(Helpers { lease, lock, has_waited: AtomicBool::new(false) });
        link.locks.insert((name, holder), made.clone());
        Ok(made)
    }

    async fn take(&self, helpers: &Helpers, command: &Value, within: Duration) -> Result<Value, Failure> {
        let lease = Duration::from_millis(command["lease_ms"].as_u64().unwrap_or_default());
        let renewal = command["renew_ms"].as_u64().map(Duration::from_millis);
        let waits = command["wait"].as_bool().unwrap_or_default();
        helpers.has_waited.store(waits, Ordering::Relaxed);
        let taken = if waits {
            match timeout(within, helpers.lock.lock(lease, within, renewal)).await {
                Ok(taken) => taken,
                Err(_) => return Ok(json!({"held": false})),
            }
        } else {
            helpers.lease.acquire(lease, within, renewal).await
        };
        match taken {
            Ok(token) => Ok(json!({"held": true, "token": token.to_string()})),
            Err(error) if matches!(error.kind(), leased_lock::ErrorKind::LeaseAlreadyHeld) => Ok(json!({"held": false})),
            Err(error) => Err(error.into()),
        }
    }

    async fn perform(self: &Arc<Self>, name: &str, command: &Value, within: Duration) -> Result<Value, Failure> {
        let bytes = |part: &str| hex::decode(command[part].as_str().unwrap_or_default()).unwrap_or_default();
        let (key, value, holder) = (bytes("key"), bytes("value"), bytes("holder"));
        let token = match command["token"].as_str() {
            Some(text) => Some(text.parse::<HybridLogicalClock>().map_err(|error| failure("argument", error))?),
            None => None,
        };
        let version = |version: Option<HybridLogicalClock>| version.map(|each| each.to_string());
        match name {
            "set" => {
                let options = SetOptions {
                    set_condition: match command["condition"].as_str() {
                        Some("nx") => SetCondition::OnlyIfDoesNotExist,
                        Some("nex") => SetCondition::OnlyIfEqualOrDoesNotExist,
                        _ => SetCondition::Unconditional,
                    },
                    expires: command["px_ms"].as_u64().map(Duration::from_millis),
                    ..SetOptions::default()
                };
                let reply = self.client().set(key, value, within, token, options).await?;
                Ok(json!({"applied": reply.response, "version": version(reply.version)}))
            }
            "get" => {
                let reply = self.client().get(key, within).await?;
                Ok(json!({"value": reply.response.map(hex::encode), "version": version(reply.version)}))
            }
            "del" => Ok(json!({"deleted": self.client().del(key, token, within).await?.response})),
            "vdel" => Ok(json!({"deleted": self.client().vdel(key, value, token, within).await?.response})),
            "observe" => self.observe(key, within).await,
            "unobserve" => self.unobserve(key, within).await,
            "lock" => self.take(&*self.helpers(key, holder)?, command, within).await,
            "unlock" => {
                let helpers = self.helpers(key, holder)?;
                match helpers.has_waited.load(Ordering::Relaxed) {
                    true => helpers.lock.unlock(within).await?,
                    false => helpers.lease.release(within).await?,
                }
                Ok(json!({}))
            }
            "holder" => {
                let owner = self.helpers(key, b"adapter".to_vec())?.lease.get_holder(within).await?;
                Ok(json!({"holder": owner.map(hex::encode)}))
            }
            _ => {
                let next = timeout(within, async { self.notes.lock().await.recv().await }).await;
                Ok(next.ok().flatten().unwrap_or_else(|| json!({"none": true})))
            }
        }
    }
}

async fn pass_on(sdk: Arc<Sdk>, key: Vec<u8>, mut observation: KeyObservation) {
    loop {
        while let Some((note, _)) = observation.recv_notification().await {
            let (operation, value) = match note.operation {
                Operation::Set(value) => ("set", Some(hex::encode(value))),
                Operation::Del => ("delete", None),
            };
            let version = note.version.to_string();
            let line = json!({"key": hex::encode(note.key), "operation": operation, "value": value, "version": version});
            let _ = sdk.tell.send(line);
        }
        // It ends with the connection.
        observation = loop {
            match sdk.client().observe(key.clone(), Duration::from_secs(5)).await {
                Ok(again) => break again.response,
                Err(_) => tokio::time::sleep(RETRY).await,
            }
        };
    }
}

fn say(id: &Value, result: Result<Value, Failure>) {
    let line = match result {
        Ok(ok) => json!({"id": id, "ok": ok}),
        Err(error) => json!({"id": id, "error": {"kind": error.kind, "text": error.text}}),
    };
    println!("{line}");
}

#[tokio::main]
async fn main() {
    println!("{}", json!({"fencepost_adapter": 1, "name": "rust-sdk", "capabilities": CAPABILITIES}));
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    let mut sdk: Option<Arc<Sdk>> = None;
    while let Ok(Some(line)) = lines.next_line().await {
        let command: Value = serde_json::from_str(&line).expect("a command is JSON");
        let name = command["command"].as_str().unwrap_or_default().to_string();
        let within = Duration::from_millis(command["timeout_ms"].as_u64().unwrap_or_default());
        if name == "connect" || name == "disconnect" {
            if let Some(old) = sdk.take() {
                old.disconnect().await;
            }
            let connected = if name == "connect" { Sdk::connect(&command, within).await.map(Some) } else { Ok(None) };
            say(&command["id"], connected.map(|new| { sdk = new; json!({}) }));
            continue;
        }
        let current = sdk.clone();
        tokio::spawn(async move {
            let result = match current {
                Some(sdk) => sdk.perform(&name, &command, within).await,
                None => Err(failure("connection", "not connected")),
            };
            say(&command["id"], result);
        });
    }
    std::process::exit(0);
}
