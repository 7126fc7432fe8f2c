//! The least that a controller can do: connect to every host, log in, run one script by one `exec`, read its answer. `make bench`
//! compares kokctl with it.
//!
//! usage: floor SCRIPT KEY ADDRESS…
#![allow(clippy::print_stdout, reason = "its result is what this program is for")]

use std::error::Error;
use std::sync::Arc;
use std::time::Instant;
use std::{env, fs, process};

use russh::ChannelMsg;
use russh::client::{self, Config, DisconnectReason, Handler, connect};
use russh::keys::{PrivateKey, PrivateKeyWithHashAlg, PublicKeyOrCertificate, load_secret_key};
use tokio::task::JoinSet;

type Failure = Box<dyn Error + Send + Sync>;

/// Takes any host key: who answers is of no interest here.
struct Client;

impl Handler for Client {
    type Error = Failure;

    async fn check_server_key(&mut self, _: &PublicKeyOrCertificate) -> Result<bool, Failure> {
        Ok(true)
    }

    async fn disconnected(&mut self, _: DisconnectReason<Failure>) -> Result<(), Failure> {
        Ok(())
    }
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let began = Instant::now();
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [script, key, addresses @ ..] = arguments.as_slice() else { return Err("give a script, a key and addresses".into()) };
    let script: Arc<[u8]> = fs::read(script)?.into();
    let key = Arc::new(load_secret_key(key, None)?);
    let config = Arc::new(Config { nodelay: true, ..Config::default() });
    let mut hosts = JoinSet::new();
    for address in addresses {
        hosts.spawn(ask(Arc::clone(&config), address.clone(), Arc::clone(&key), Arc::clone(&script)));
    }
    let mut bytes = 0;
    while let Some(host) = hosts.join_next().await {
        bytes += host??;
    }
    println!("{{\"milliseconds\": {:.1}, \"answerBytes\": {bytes}}}", began.elapsed().as_secs_f64() * 1e3);
    process::exit(0)
}

async fn ask(config: Arc<Config>, address: String, key: Arc<PrivateKey>, script: Arc<[u8]>) -> Result<usize, Failure> {
    let mut session: client::Handle<Client> = connect(config, (address.as_str(), 22), Client).await?;
    if !session.authenticate_publickey("root", PrivateKeyWithHashAlg::new(key, None)).await?.success() {
        return Err(format!("{address} refused the key").into());
    }
    let mut channel = session.channel_open_session().await?;
    channel.exec(true, "exec /bin/sh -s").await?;
    channel.data_bytes(script.to_vec()).await?;
    channel.eof().await?;
    let (mut answer, mut status) = (0, None);
    while let Some(message) = channel.wait().await {
        match message {
            ChannelMsg::Data { data } => answer += data.len(),
            ChannelMsg::ExitStatus { exit_status } => status = Some(exit_status),
            _ => {}
        }
    }
    if status == Some(0) { Ok(answer) } else { Err(format!("the script on {address} ended with {status:?}").into()) }
}
