//! `lab`: bare Linux hosts on this machine. `tests/lab/README.md` says what they are.

use std::error::Error;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write as _};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{self, Command, ExitCode};
use std::time::{Duration, Instant};

use clap::builder::TypedValueParser as _;
use clap::{Args, Parser, Subcommand, ValueEnum};
use kok_tests::lab::{DEFAULT_KUBERNETES_VERSION, Host, Image, Lab, LabError, LabSpec, Proxy, down, names, serve};

/// Bare Linux hosts on this machine, in a network of their own.
#[derive(Parser)]
#[command(name = "lab", version)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Args)]
struct Name {
    /// Name of the lab.
    #[arg(long, default_value = "lab")]
    name: String,
}

#[derive(Subcommand)]
enum Verb {
    /// Boot a lab: cp1, worker1, worker2, …
    Up {
        #[command(flatten)]
        lab: Name,
        /// How many hosts.
        #[arg(long, default_value_t = 5)]
        hosts: usize,
        /// How many of them are control planes: cp1, cp2, …; the others are worker1, worker2, …
        #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..).map(usize::from))]
        control_planes: usize,
        /// How many of them run etcd alone: etcd1, etcd2, …; without any it runs on the control planes.
        #[arg(long, value_name = "COUNT", default_value_t = 0)]
        etcd: usize,
        /// What they run.
        #[arg(long, value_enum, default_value_t)]
        image: Image,
        /// Start only systemd and sshd on them: for many hosts.
        #[arg(long)]
        light: bool,
        /// Put all hosts behind a chain of so many more, bastion1, bastion2, …: each is reached only through the one before.
        #[arg(long, value_name = "COUNT", default_value_t = 0)]
        bastions: usize,
        /// Give every host an address of IPv6 too, and let the manifest ask for dual stack.
        #[arg(long)]
        dual_stack: bool,
    },
    /// Take a lab down and leave nothing of it.
    Down {
        #[command(flatten)]
        lab: Name,
        /// All labs of this machine.
        #[arg(long, conflicts_with = "name")]
        all: bool,
    },
    /// List labs and hosts.
    Ps,
    /// Log in to a host, or run a command there.
    Ssh {
        #[command(flatten)]
        lab: Name,
        /// Log in as this user: root, ops or opspw.
        #[arg(long, short = 'l', default_value = "root")]
        login: String,
        host: String,
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        command: Vec<OsString>,
    },
    /// Run a command here, but in the lab's network, where the hosts can be reached.
    Run {
        #[command(flatten)]
        lab: Name,
        #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
        command: Vec<OsString>,
    },
    /// Print the lab as kokctl's Cluster manifest, or everything there is to know of it.
    Inventory {
        #[command(flatten)]
        lab: Name,
        #[arg(long, value_enum, default_value_t = Format::Yaml)]
        format: Format,
        /// Version for the manifest.
        #[arg(long, default_value = DEFAULT_KUBERNETES_VERSION)]
        kubernetes_version: String,
    },
    /// Print a host's journal, also of a host that is off.
    Logs {
        #[command(flatten)]
        lab: Name,
        host: String,
        /// What the host wrote to its console instead.
        #[arg(long)]
        console: bool,
        /// Options of journalctl, such as -u kubelet or -f.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        options: Vec<OsString>,
    },
    /// Pull a host's plug: all of its processes end at once.
    PowerOff(Target),
    /// Boot a host again with its disk, keys and address.
    PowerOn(Target),
    /// Let a host reboot itself, and wait until it is up again.
    Reboot(Target),
    /// Stop all processes of a host where they are, as in a virtual machine that is paused.
    Pause(Target),
    /// Let them go on.
    Resume(Target),
    /// Cut a host off from the network; it runs on.
    Cut(Target),
    /// Connect a host again.
    Heal(Target),
    /// Make every round trip to a host's sshd take so long, from the next connection on.
    Lag {
        #[command(flatten)]
        target: Target,
        /// 0 makes it as short as it was.
        milliseconds: u64,
    },
    /// Make the disk full under a folder of a host: reading works, every write fails.
    Fill {
        #[command(flatten)]
        target: Target,
        path: String,
    },
    /// Undo fill.
    Free {
        #[command(flatten)]
        target: Target,
        path: String,
    },
    /// What `lag` starts in the lab's network.
    #[command(hide = true)]
    Proxy {
        #[arg(long)]
        listen: SocketAddrV4,
        #[arg(long)]
        from: Ipv4Addr,
        #[arg(long)]
        to: SocketAddrV4,
        #[arg(long)]
        milliseconds: u64,
        /// Folders of cgroups to join.
        cgroups: Vec<PathBuf>,
    },
}

#[derive(Args)]
struct Target {
    #[command(flatten)]
    lab: Name,
    host: String,
}

impl Target {
    fn open(&self) -> Result<Host, LabError> {
        Lab::open(&self.lab.name)?.host(&self.host)
    }
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    /// The Cluster manifest.
    Yaml,
    /// Facts: addresses, machine-ids, paths, power.
    Json,
}

fn main() -> ExitCode {
    match carry_out(Cli::parse().verb) {
        Ok(code) => code,
        Err(error) => {
            say(&format!("lab: {error}"));
            let mut source = error.source();
            while let Some(cause) = source {
                say(&format!("  because: {cause}"));
                source = cause.source();
            }
            ExitCode::FAILURE
        }
    }
}

fn carry_out(verb: Verb) -> Result<ExitCode, Box<dyn Error>> {
    match verb {
        Verb::Up { lab, hosts, control_planes, etcd, image, light, bastions, dual_stack } => {
            let spec = LabSpec::new(&lab.name, hosts).control_planes(control_planes).etcd(etcd).image(image);
            let spec = if dual_stack { spec.dual_stack() } else { spec };
            up(if light { spec.light() } else { spec }.behind_bastions(bastions))?;
        }
        Verb::Down { lab, all } => take_down(&lab.name, all)?,
        Verb::Ps => list()?,
        Verb::Ssh { lab, login, host, command } => return ssh(&lab.name, &login, &host, command),
        Verb::Run { lab, command } => return run(&lab.name, &command),
        Verb::Inventory { lab, format, kubernetes_version } => {
            let lab = Lab::open(&lab.name)?;
            match format {
                Format::Yaml => print(&lab.inventory(&kubernetes_version)?)?,
                Format::Json => print(&format!("{}\n", serde_json::to_string_pretty(&lab.facts()?)?))?,
            }
        }
        Verb::Logs { lab, host, console, options } => return logs(&lab.name, &host, console, &options),
        Verb::PowerOff(target) => target.open()?.power_off()?,
        Verb::PowerOn(target) => target.open()?.power_on()?,
        Verb::Reboot(target) => target.open()?.reboot()?,
        Verb::Pause(target) => target.open()?.pause()?,
        Verb::Resume(target) => target.open()?.resume()?,
        Verb::Cut(target) => target.open()?.cut()?,
        Verb::Heal(target) => target.open()?.heal()?,
        Verb::Lag { target, milliseconds } => target.open()?.lag(Duration::from_millis(milliseconds))?,
        Verb::Fill { target, path } => target.open()?.fill(&path)?,
        Verb::Free { target, path } => target.open()?.free(&path)?,
        Verb::Proxy { listen, from, to, milliseconds, cgroups } => {
            proxy(Proxy { listen, from, to, round_trip: Duration::from_millis(milliseconds) }, &cgroups)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn up(spec: LabSpec) -> Result<(), Box<dyn Error>> {
    let start = Instant::now();
    let lab = Lab::up_with_progress(spec, &say)?.keep()?;
    for host in lab.hosts() {
        let behind = host.bastion().map(|bastion| format!(" behind {bastion}")).unwrap_or_default();
        print(&format!("{:<12} {}{behind}\n", host.name(), host.address()))?;
    }
    let (name, hosts) = (lab.name(), lab.hosts().count());
    say(&format!("lab {name}: {hosts} hosts running after {:.1} s", start.elapsed().as_secs_f64()));
    Ok(())
}

/// The cgroups come first: what is not in them would be lost to `down`.
fn proxy(proxy: Proxy, cgroups: &[PathBuf]) -> io::Result<()> {
    for cgroup in cgroups {
        fs::write(cgroup.join("cgroup.procs"), process::id().to_string())?;
    }
    serve(proxy, || {
        // Where nobody waits for it, it is of no use to tell.
        let _ = print("ready\n");
    })
}

fn take_down(name: &str, all: bool) -> Result<(), Box<dyn Error>> {
    let present = names()?;
    let chosen: Vec<&str> = if all { present.iter().map(String::as_str).collect() } else { vec![name] };
    for name in chosen {
        down(name)?;
        say(&if present.contains(name) { format!("lab {name}: down") } else { format!("lab {name}: not there") });
    }
    Ok(())
}

fn list() -> Result<(), Box<dyn Error>> {
    for name in names()? {
        let lab = match Lab::open(&name) {
            Ok(lab) => lab,
            Err(LabError::NoLab { .. }) => {
                print(&format!("{name:<20} never finished: lab down --name {name}\n"))?;
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        for host in lab.hosts() {
            let power = host.power().map_or("off", kok_tests::lab::Power::as_str);
            let lag = host.lagging().map(|lag| format!(" (lags by {} ms)", lag.as_millis())).unwrap_or_default();
            print(&format!("{name:<20} {:<12} {:<14} {power}{lag}\n", host.name(), host.address()))?;
        }
    }
    Ok(())
}

/// As ssh itself: the command's words become one line for the shell of the host.
fn ssh(name: &str, login: &str, host: &str, command: Vec<OsString>) -> Result<ExitCode, Box<dyn Error>> {
    let lab = Lab::open(name)?;
    let host = lab.host(host)?;
    let mut ssh = lab.command("ssh")?;
    ssh.arg("-F").arg(lab.ssh_config_path()).args(["-l", login, host.name()]);
    if !command.is_empty() {
        ssh.arg("--").args(command);
    }
    Err(become_program(ssh).into())
}

fn run(name: &str, command: &[OsString]) -> Result<ExitCode, Box<dyn Error>> {
    let (program, arguments) = command.split_first().ok_or("no command given")?;
    let mut run = Lab::open(name)?.command(program)?;
    run.args(arguments);
    Err(become_program(run).into())
}

fn logs(name: &str, host: &str, console: bool, options: &[OsString]) -> Result<ExitCode, Box<dyn Error>> {
    let host = Lab::open(name)?.host(host)?;
    if console {
        print(&host.console()?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut journalctl = host.journal_command();
    journalctl.args(options);
    Err(become_program(journalctl).into())
}

/// Takes the place of this process, so that signals, the terminal and the exit status are the program's own. Returns on failure.
fn become_program(mut command: Command) -> io::Error {
    let error = command.exec();
    io::Error::new(error.kind(), format!("can't run {}: {error}", command.get_program().display()))
}

fn print(text: &str) -> io::Result<()> {
    io::stdout().write_all(text.as_bytes())
}

/// For the person at the terminal; where standard error is closed there is nobody to tell.
fn say(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}
