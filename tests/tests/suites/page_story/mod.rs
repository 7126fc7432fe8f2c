//! A real browser in the network of a lab: Debian's Chromium, driven by its own driver (WebDriver, W3C), which curl asks.

use std::io::Write as _;
use std::process::{Child, Command, Stdio};

use kok_tests::lab::Lab;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::lab_support::wait_for;

/// Where the driver listens, in the network of the lab.
const DRIVER: &str = "http://127.0.0.1:9515";
/// A browser begins within this time, also on a busy machine.
const BEGUN: u64 = 60;

/// A browser, until it is dropped.
pub struct Browser<'a> {
    lab: &'a Lab,
    /// The first process of a PID namespace, which takes the browser with it.
    driver: Child,
    session: String,
    _folder: TempDir,
}

impl<'a> Browser<'a> {
    /// Starts one.
    pub fn start(lab: &'a Lab) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut command = lab.command("unshare").unwrap();
        command.args(["--pid", "--fork", "--kill-child", "--mount-proc", "chromedriver", "--port=9515", "--log-level=SEVERE"]);
        command.env("HOME", folder.path()).env("TMPDIR", folder.path()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let driver = command.spawn().expect("chromium-driver is installed by `sh tests/make/setup.sh page`");
        let mut browser = Self { lab, driver, session: String::new(), _folder: folder };
        wait_for("the browser's driver", BEGUN, || browser.ask("GET", "/status", None).is_some_and(|said| said["ready"] == true));
        let profile = browser._folder.path().join("profile").display().to_string();
        let arguments = [
            "--headless=new",
            // There is no sandbox for root; and nothing but the page of the operator is to be had here.
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--disable-background-networking",
            "--disable-component-update",
            "--no-first-run",
            "--window-size=1280,1600",
        ];
        let arguments: Vec<String> =
            arguments.iter().map(|word| (*word).to_owned()).chain([format!("--user-data-dir={profile}")]).collect();
        let options = json!({"binary": "/usr/bin/chromium", "args": arguments});
        let wanted = json!({"browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}});
        let begun = browser.ask("POST", "/session", Some(&json!({"capabilities": {"alwaysMatch": wanted}}))).unwrap();
        browser.session = begun["sessionId"].as_str().unwrap_or_else(|| panic!("no browser: {begun:#}")).to_owned();
        browser
    }

    /// What the driver answers; nothing if nobody does.
    fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> Option<Value> {
        let mut command: Command = self.lab.command("curl").unwrap();
        command.args(["-sS", "--noproxy", "*", "--max-time", "60", "-X", method, "-H", "Content-Type: application/json"]);
        if body.is_some() {
            command.args(["--data-binary", "@-"]);
        }
        command.arg(format!("{DRIVER}{path}")).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut curl = command.spawn().unwrap();
        curl.stdin.take().unwrap().write_all(body.map(ToString::to_string).unwrap_or_default().as_bytes()).unwrap();
        let output = curl.wait_with_output().unwrap();
        let answer: Value = serde_json::from_slice(&output.stdout).ok()?;
        Some(answer["value"].clone())
    }

    fn post(&self, path: &str, body: &Value) -> Value {
        let said = self.ask("POST", &format!("/session/{}{path}", self.session), Some(body)).expect("the driver answers");
        assert!(said.get("error").is_none(), "{path} {body}: {said:#}");
        said
    }

    /// Goes to an address.
    pub fn open(&self, address: &str) {
        self.post("/url", &json!({ "url": address }));
    }

    /// What a script returns that runs in the page.
    pub fn script(&self, script: &str) -> Value {
        self.post("/execute/sync", &json!({"script": script, "args": []}))
    }

    /// All that there is to read in the first element of a selector; nothing where there is none.
    pub fn text(&self, selector: &str) -> String {
        let found = self.script(&format!("return (document.querySelector({}) || {{}}).innerText || ''", json!(selector)));
        found.as_str().unwrap_or_default().to_owned()
    }

    /// Clicks at the first element of a selector, where it is on the screen.
    pub fn click(&self, selector: &str) {
        wait_for(selector, BEGUN, || {
            let found =
                self.ask("POST", &format!("/session/{}/element", self.session), Some(&json!({"using": "css selector", "value": selector})));
            let id = found.as_ref().and_then(|found| found.as_object()?.values().next()?.as_str());
            // What is drawn anew between the look and the click is looked for again.
            id.is_some_and(|id| {
                let path = format!("/session/{}/element/{id}/click", self.session);
                self.ask("POST", &path, Some(&json!({}))).is_some_and(|said| said.get("error").is_none())
            })
        });
    }

    /// Errors on the console since the last time that they were asked for.
    pub fn errors(&self) -> Vec<String> {
        let log = self.post("/se/log", &json!({"type": "browser"}));
        let severe = log.as_array().unwrap().iter().filter(|entry| entry["level"] == "SEVERE");
        severe.map(|entry| entry["message"].as_str().unwrap_or_default().to_owned()).collect()
    }
}

impl Drop for Browser<'_> {
    fn drop(&mut self) {
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}
