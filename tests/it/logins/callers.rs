//! Servers with `login = "caller"`: two people with accounts of their own, on one host.

use std::{io::Write as _, process::Stdio};

use serde_json::{Value, json};

use super::accounts::Accounts;
use crate::support::{Http, Place, host::PATIENCE, text_of};

/// Calls of each person, at the same time as the other's.
const CALLS: usize = 100;

fn place(accounts: &Accounts) -> Place {
    let server = format!("[servers.git]\nurl = \"http://{}/mcp\"\nlogin = \"caller\"\n", accounts.address);
    Place::with(&format!("[auth]\n{server}[presets.a]\nservers = [\"git\"]\n"), &[])
}

struct Person<'a> {
    host: &'a Http,
    key: String,
}

/// Returns a call as MCP 2026-07-28 sends it, from a client that can open links or not.
fn call(tool: &str, capabilities: &Value) -> Value {
    json!({"name": tool, "arguments": {}, "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    }})
}

impl<'a> Person<'a> {
    fn with_key(host: &'a Http, place: &Place, name: &str) -> Self {
        let ran = place.run(&["keys", "create", name, "--preset", "a"]);
        assert_eq!(ran.code(), 0, "{}", ran.stderr());
        Self { host, key: ran.stdout().trim().to_owned() }
    }

    fn send(&self, method: &str, params: &Value) -> Value {
        let message = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
        let bearer = format!("Bearer {}", self.key);
        let name = params["name"].as_str().unwrap_or_default();
        let headers = [
            ("authorization", &*bearer),
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", method),
            ("mcp-name", name),
        ];
        let (status, _, body) = self.host.post("/mcp/p/a", &message, &headers);
        assert_eq!(status, 200, "{body}");
        let data = body.lines().filter_map(|line| line.strip_prefix("data:"));
        let mut messages =
            data.chain([&*body]).filter_map(|text| serde_json::from_str::<Value>(text.trim()).ok());
        messages.find(|message| message["id"] == 7).unwrap_or_else(|| panic!("no answer in {body}"))
    }

    /// Calls a tool from a client that cannot open links.
    fn call(&self, tool: &str) -> String {
        let answer = self.send("tools/call", &call(tool, &json!({})));
        match answer.get("error") {
            Some(error) => error["message"].as_str().expect("a message").to_owned(),
            None => text_of(&answer["result"]),
        }
    }

    /// Opens a link to sign in, shows the key, and agrees with an account. Returns the last page.
    fn sign_in(&self, link: &str, account: &str) -> String {
        let form = Page::get(link, "");
        assert!(form.status == 200 && form.body.contains("Sign in to git"), "{form:?}");
        let page = Page::post(link, &format!("credential={}", self.key));
        assert_eq!(page.status, 200, "{page:?}");
        let (cookie, _) = page.header("set-cookie").split_once(';').expect("attributes");
        let agreed = Page::get(&format!("{}&account={account}", page.link()), "");
        Page::get(agreed.header("location"), cookie).body
    }
}

#[derive(Debug)]
struct Page {
    status: u16,
    headers: Vec<(String, String)>,
    body: String,
}

impl Page {
    fn get(url: &str, cookie: &str) -> Self {
        Self::load(url, "GET", &[("cookie", cookie)], "")
    }

    /// Sends a form as a page of the same host does.
    fn post(url: &str, form: &str) -> Self {
        let host = url.match_indices('/').nth(2).map_or(url, |(end, _)| &url[..end]);
        let headers = [("origin", host), ("content-type", "application/x-www-form-urlencoded")];
        Self::load(url, "POST", &headers, form)
    }

    fn load(url: &str, method: &str, headers: &[(&str, &str)], body: &str) -> Self {
        let agent: ureq::Agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .timeout_global(Some(PATIENCE))
            .build()
            .into();
        let mut request = ureq::http::Request::builder().method(method).uri(url);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let mut response = agent.run(request.body(body.to_owned()).expect("a request")).expect("an answer");
        let text = |value: &ureq::http::HeaderValue| value.to_str().unwrap_or_default().to_owned();
        let headers =
            response.headers().iter().map(|(name, value)| (name.to_string(), text(value))).collect();
        let body = response.body_mut().read_to_string().expect("a body");
        Self { status: response.status().as_u16(), headers, body }
    }

    fn header(&self, name: &str) -> &str {
        let mut values = self.headers.iter().filter(|(header, _)| header == name).map(|(_, value)| value);
        values.next().unwrap_or_else(|| panic!("no {name} in {:?}", self.headers))
    }

    /// Returns the address of its only link.
    fn link(&self) -> String {
        let (_, rest) = self.body.split_once("<a href=\"").expect("a link");
        rest.split_once('"').expect("an address").0.replace("&amp;", "&")
    }
}

/// Returns the link in an advice.
fn link_in(text: &str) -> String {
    let (_, rest) = text.split_once("Open ").unwrap_or_else(|| panic!("no link in {text}"));
    rest.split_once(' ').expect("an end").0.to_owned()
}

#[test]
fn two_people_use_accounts_of_their_own() {
    let accounts = Accounts::start();
    let place = place(&accounts);
    let host = Http::start(&place, "a", &[]);
    let [ann, bob] = ["ann", "bob"].map(|name| Person::with_key(&host, &place, name));
    let refused = ann.call("git__sign_in");
    assert!(refused.contains("server 'git' requires your own login"), "{refused}");
    let link = link_in(&refused);
    let done = ann.sign_in(&link, "ann");
    assert!(done.contains("Signed in to git"), "{done}");
    assert!(ann.call("git__sign_in").contains("Its tools are listed now"));
    // The host lists the tools again in the background. The test's time limit ends this.
    while ann.call("git__whoami") != "account of ann" {}
    let refused = bob.call("git__whoami");
    assert!(refused.contains("server 'git' requires your own login"), "{refused}");
    bob.sign_in(&link_in(&refused), "bob");
    std::thread::scope(|scope| {
        for (person, whose) in [(&ann, "account of ann"), (&bob, "account of bob")] {
            scope.spawn(move || (0..CALLS).for_each(|_| assert_eq!(person.call("git__whoami"), whose)));
        }
    });
    let logged = host.log();
    assert!(!logged.contains("secret-") && !logged.contains(&ann.key), "{logged}");
    let status = place.run(&["servers", "status"]).stdout();
    for name in ["key:ann", "key:bob"] {
        assert!(status.contains(&format!("login of {name} to 'git': the login is valid for ")), "{status}");
    }
    let erased = place.run(&["principals", "erase", "key:ann", "--yes"]);
    assert!(erased.stdout().contains("1 logins"), "{}{}", erased.stdout(), erased.stderr());
    assert!(accounts.bodies("/revoke")[0].contains("token=secret-ann"));
    assert!(ann.call("git__whoami").contains("requires"), "her account is no longer used");
    assert_eq!(bob.call("git__whoami"), "account of bob");
}

#[test]
fn a_client_that_opens_links_goes_on_with_its_call() {
    let accounts = Accounts::start();
    let place = place(&accounts);
    let host = Http::start(&place, "a", &[]);
    let ann = Person::with_key(&host, &place, "ann");
    let mut params = call("git__sign_in", &json!({"elicitation": {"url": {}}}));
    let asked = ann.send("tools/call", &params);
    let requests = asked["result"]["inputRequests"].as_object().unwrap_or_else(|| panic!("{asked}"));
    let (id, question) = requests.iter().next().expect("a question");
    let question = &question["params"];
    assert_eq!(question["message"], "To use server 'git', sign in with your own account.", "{question}");
    ann.sign_in(question["url"].as_str().expect("a URL"), "ann");
    params["inputResponses"] = json!({id: {"action": "accept"}});
    params["requestState"] = asked["result"]["requestState"].clone();
    let answer = ann.send("tools/call", &params);
    assert!(text_of(&answer["result"]).contains("Signed in to server 'git'"), "{answer}");
}

#[test]
fn a_link_is_useless_to_everybody_else() {
    let accounts = Accounts::start();
    let place = place(&accounts);
    let host = Http::start(&place, "a", &[]);
    let [ann, eve] = ["ann", "eve"].map(|name| Person::with_key(&host, &place, name));
    let link = link_in(&eve.call("git__sign_in"));
    // Eve sends her link to Ann, whose account she wants.
    let page = Page::post(&link, &format!("credential={}", ann.key));
    assert!(page.status == 403 && page.body.contains("is for another person"), "{page:?}");
    let page = Page::post(&link, "credential=ghk_0_0");
    assert_eq!(page.status, 401, "{page:?}");
    for form in ["", "credential=", "other=x"] {
        assert_ne!(Page::post(&link, form).status, 200, "{form}");
    }
    // Eve shows her key, and sends the address of the authorization server to Ann.
    let page = Page::post(&link, &format!("credential={}", eve.key));
    let agreed = Page::get(&format!("{}&account=ann", page.link()), "");
    let back = Page::get(agreed.header("location"), "");
    assert!(back.status == 404 && back.body.contains("no sign-in of this browser"), "{back:?}");
    assert!(accounts.bodies("/token").is_empty(), "no code was redeemed");
    for target in ["/sign-in/unknown", "/sign-in/callback", "/sign-in/callback?code=x&state=y"] {
        assert_eq!(Page::get(&format!("{}{target}", host.base), "").status, 404, "{target}");
    }
    let policy = page.header("content-security-policy");
    assert!(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"), "{policy}");
    assert_eq!(page.header("cache-control"), "no-store");
    assert!(page.header("set-cookie").contains("HttpOnly; SameSite=Lax"), "{page:?}");
}

#[test]
fn an_operator_stores_a_token_for_a_person() {
    let accounts = Accounts::start();
    let place = place(&accounts);
    let host = Http::start(&place, "a", &[]);
    let [ann, bob] = ["ann", "bob"].map(|name| Person::with_key(&host, &place, name));
    let store = |principal: &[&str], token: &str| {
        let arguments = [&["servers", "login", "git", "--token"], principal].concat();
        let mut child = place
            .command(&arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("run gatehouse");
        writeln!(child.stdin.take().expect("piped"), "{token}").expect("typed");
        let ran = child.wait_with_output().expect("an end");
        String::from_utf8_lossy(&[ran.stdout, ran.stderr].concat()).into_owned()
    };
    assert_eq!(
        store(&["--as", "key:ann"], "secret-pat").trim(),
        "logged in to 'git' as key:ann; the login has no known expiry"
    );
    assert!(store(&["--as", "key:ann"], "two words").contains("invalid token: expected"));
    assert!(store(&["--as", "key:ann"], "").contains("standard input has no token"));
    while !ann.call("git__sign_in").contains("Unknown tool") {}
    assert_eq!(ann.call("git__whoami"), "account of pat");
    assert!(bob.call("git__whoami").contains("requires your own login"));
    let ran = place.run(&["servers", "logout", "git", "--as", "key:ann"]);
    assert!(ran.stdout().starts_with("logged out of 'git' as key:ann"), "{}{}", ran.stdout(), ran.stderr());
    let ran = place.run(&["servers", "logout", "git", "--as", "key:ann"]);
    assert!(ran.stderr().contains("there is no login to 'git' as key:ann"), "{}", ran.stderr());
}

#[test]
fn only_servers_with_own_logins_have_logins_of_people() {
    let place = Place::with("[servers.git]\nurl = \"http://127.0.0.1:1/mcp\"\n", &[]);
    let ran = place.run(&["servers", "login", "git", "--as", "key:ann"]);
    assert_eq!(ran.code(), 2, "{}", ran.stderr());
    assert!(
        ran.stderr().contains("has one login for all callers; to change that, set login = \"caller\""),
        "{}",
        ran.stderr()
    );
}
