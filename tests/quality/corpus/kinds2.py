"""Results that describe what runs on servers: configuration, metrics, services and containers.

Made up like those of `kinds`: from fixed seeds, with names such as `failed-logins-report` for what works.
"""

from base import Result, spread
from kinds import SERVICES, SUBJECTS, code, pair, table

UNITS = """accounts-daemon|running|Accounts Service
apport|exited|Automatic error report generation, if a program has failed
apt-daily-upgrade|running|Daily apt upgrade and clean activities
auditd|running|Security Auditing Service, logs each refused access
chrony|running|chrony, an NTP client/server
containerd|running|containerd container runtime
cron|running|Regular background program processing daemon
dbus|running|D-Bus System Message Bus
docker|running|Docker Application Container Engine
fail2ban|running|Ban hosts after failed logins
failed-logins-report|running|Report of failed logins
grafana-server|running|Grafana instance
irqbalance|running|irqbalance daemon
kmod-static-nodes|exited|Create List of Static Device Nodes
mdmonitor|running|MD array monitor: mails each error event
memcached-evicted-stats|running|Statistics of evicted cache items
networkd-dispatcher|running|Dispatcher daemon for systemd-networkd
nginx|running|A high performance web server and a reverse proxy server
node-exporter|running|Prometheus exporter for machine metrics
polkit|running|Authorization Manager
postfix@-|running|Postfix Mail Transport Agent (instance -)
postgresql@16-main|running|PostgreSQL Cluster 16-main
rsyslog|running|System Logging Service
smartd|running|Self Monitoring and Reporting Technology, warns of disk errors
ssh|running|OpenBSD Secure Shell server
systemd-journald|running|Journal Service
systemd-logind|running|User Login Management
systemd-resolved|running|Network Name Resolution
systemd-udevd|running|Rule-based Manager for Device Events and Files
ufw|exited|Uncomplicated firewall
unattended-upgrades|running|Unattended Upgrades Shutdown""".splitlines()


@pair(shop=6, platform=13)
def yaml(name, size, random):
    apps, replicas = random.sample(SERVICES, size), random.sample(range(1, 24), size)
    limits, text = [f"{m}Mi" for m in random.sample(range(256, 2048, 64), size)], ""
    for number, (app, count, limit) in enumerate(zip(apps, replicas, limits)):
        labels, port = f"app.kubernetes.io/name: {app}", 8000 + 10 * number
        text += f"""---
# Source: {name}/templates/{app}/deployment.yaml
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {app}
  namespace: {name}
  labels:
    {labels}
spec:
  # replicas: {count + 30}
  replicas: {count}
  selector:
    matchLabels:
      {labels}
  template:
    metadata:
      labels:
        {labels}
    spec:
      # Containers
      containers:
        - name: {app}
          image: "registry.example.org/{name}/{app}:2.{number}.{random.randint(0, 9)}"
          ports:
            - containerPort: {port}
          resources:
            limits:
              memory: {limit}
            requests:
              cpu: {random.choice([50, 100, 250])}m
---
# Source: {name}/templates/{app}/service.yaml
apiVersion: v1
kind: Service
metadata:
  name: {app}
  namespace: {name}
spec:
  type: {'LoadBalancer' if app == 'gateway' else 'ClusterIP'}
  selector:
    {labels}
  ports:
    - port: 80
      targetPort: {port}
"""
        if number % 2:
            text += f"""---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: {app}
spec:
  scaleTargetRef:
    apiVersion: apps/v1
    kind: Deployment
    name: {app}
  minReplicas: {count}
  maxReplicas: {count + 40}
"""
        else:
            text += f"""---
apiVersion: v1
kind: ConfigMap
metadata:
  name: {app}-settings
data:
  on-error: "refused"
  messages.properties: |
    # Failures
    failed=Your order has failed at {{time}}
    retry.after=12:30
"""
    most, one = replicas.index(max(replicas)), size // 2
    return Result("yaml", name, text).ask("count", "How many Deployments are defined?", ["Deployment", size]).ask(
        "lookup", f"How much memory may {apps[one]} use at most?", [apps[one], limits[one]]).ask(
        "extreme", "Which Deployment has the most replicas, and how many?", [apps[most], max(replicas)])


@pair(cart=5, edge=18)
def metrics(name, size, random):
    handlers = [f"/api/{word}" for word in random.sample(SUBJECTS + SERVICES, size - 1)] + ["/errors/failed"]
    broken, text = dict(zip(handlers, random.sample(range(1, 900), size))), ""

    def family(metric, kind, text_, samples):
        nonlocal text
        text += f"# HELP {metric} {text_}\n# TYPE {metric} {kind}\n" + "".join(f"{metric}{sample}\n" for sample in samples)
    queues = random.sample(SERVICES, 4 + size // 4)
    bad, failures = random.choice(queues), random.randint(11, 60)
    family("cache_evicted_total", "counter", "Entries evicted to make room; no error.", [f" 1.{random.randint(9, 99)}e+06"])
    family("go_gc_duration_seconds", "summary", "A summary of the pause duration of garbage collection cycles.",
           [f'{{quantile="{q}"}} 0.000{random.randint(100, 900)}' for q in (0, 0.5, 1)])
    family("go_goroutines", "gauge", "Number of goroutines that currently exist.", [f" {random.randint(20, 300)}"])
    durations = []
    for handler in handlers:
        total, seen = random.randint(2000, 90000), 0
        for bound in ("0.005", "0.025", "0.1", "0.5", "1", "2.5", "10", "+Inf"):
            seen = total if bound == "+Inf" else seen + (total - seen) * random.randint(20, 80) // 100
            durations.append(f'_bucket{{handler="{handler}",le="{bound}"}} {seen}')
        durations.append(f'_sum{{handler="{handler}"}} {total * random.randint(3, 90) / 1000}')
        durations.append(f'_count{{handler="{handler}"}} {total}')
    family("http_request_duration_seconds", "histogram", "Duration of requests by handler.", durations)
    codes = {"200": lambda _: random.randint(2000, 90000), "404": lambda _: random.randint(0, 99), "500": broken.get}
    family("http_requests_total", "counter", "Requests by status code and handler.", [
        f'{{code="{status}",handler="{handler}",method="GET"}} {count(handler)}'
        for handler in handlers for status, count in codes.items()])
    family("jobs_failed_total", "counter", "Jobs that failed for good.",
           [f'{{queue="{queue}"}} {failures if queue == bad else 0}' for queue in queues])
    family("jobs_refused_total", "counter", "Jobs refused as duplicates, as wanted.",
           [f'{{queue="{queue}"}} {random.randint(100, 900)}' for queue in queues])
    family("process_cpu_seconds_total", "counter", "Total user and system CPU time spent in seconds.",
           [f" {random.randint(99, 9999)}.42"])
    family("process_open_fds", "gauge", "Number of open file descriptors.", [f" {random.randint(20, 99)}"])
    worst = max(broken, key=broken.get)
    return Result("metrics", name, text).ask(
        "count", "How many of the metrics are counters?", ["counter", text.count(" counter\n")]).ask(
        "error", "In which queue did jobs fail, and how many?", [bad, failures]).ask(
        "extreme", "Which handler answered most often with status 500, and how often?", [worst, broken[worst]])


@pair(web=70, storage=230)
def units(name, size, random):
    known = [line.split("|") for line in UNITS]
    rows = [[f"{unit}.service", sub, text] for unit, sub, text in known]
    bad = [f"worker@{n}.service" for n in random.sample(range(1, 40), 1 + size // 100)] + ["backup-offsite.service"]
    rows += [[unit, "failed", "Copy of the backups" if "backup" in unit else "Worker for the queue"] for unit in bad]
    while len(rows) < size:
        key, number = code(random, 24), random.randint(40, 999)
        unit = random.choice([
            [f"worker@{number}.service", "running", "Worker for the queue"],
            [f"session-{number}.scope", "running", f"Session {number} of User deploy"],
            [f"dev-disk-by\\x2duuid-{key}.device", "plugged", f"Samsung_SSD_870_EVO {random.randint(1, 9)}"],
            [f"var-lib-docker-overlay2-{key}-merged.mount", "mounted", f"/var/lib/docker/overlay2/{key}/merged"],
            [f"snap-core{random.randint(18, 24)}-{random.randint(1000, 3000)}.mount", "mounted", "Mount unit for core"],
            [f"cleanup-{key[:6]}.timer", "waiting", f"Removes files of {key[:6]} that were evicted"]])
        if unit[0] not in [row[0] for row in rows]:
            rows.append(unit)
    cells = [["  UNIT", "LOAD", "ACTIVE", "SUB", "DESCRIPTION"]]
    for unit, sub, text in sorted(rows, key=lambda row: (row[0].rsplit(".", 1)[1], row[0])):
        sign, active = ("● ", "failed") if sub == "failed" else ("  ", "active")
        cells.append([sign + unit, "loaded", active, sub, text])
    text = table(cells) + f"""
Legend: LOAD   → Reflects whether the unit definition was properly loaded.
        ACTIVE → The high-level unit activation state, i.e. generalization of SUB.
        SUB    → The low-level unit activation state, values depend on unit type.

{size} loaded units listed. Pass --all to see loaded but inactive units, too.
To show all installed unit files use 'systemctl list-unit-files'.
"""
    one = random.choice(known)
    return Result("units", name, text).ask("error", "Which units have failed?", *[[unit, "failed"] for unit in bad]).ask(
        "count", "How many units are running?", ["running", sum(row[1] == "running" for row in rows)]).ask(
        "lookup", f"What is the service {one[0]} for?", [f"{one[0]}.service", one[2]])


@pair(build=24, staging=84)
def docker(name, size, random):
    bad, reached, up = {}, {}, 0
    cells = [["CONTAINER ID", "IMAGE", "COMMAND", "CREATED", "STATUS", "PORTS", "NAMES"]]
    broken = dict(zip(random.sample(range(size), 2 + size // 30), [137, 1, 139, 2]))
    for number in range(size):
        app = random.choice(SERVICES)
        container = f"{name}-{app}-{number + 1}"
        age = f"{random.randint(2, 11)} {random.choice(['hours', 'days', 'weeks', 'months'])}"
        status, port, ports = f"Up {age}", 20000 + 7 * number, ""
        if number in broken:
            bad[container] = f"Exited ({broken[number]})"
            status = f"Exited ({broken[number]}) {age} ago"
        elif random.random() < 0.3:
            status = random.choice([f"Exited (0) {age} ago", "Created"])
        else:
            up += 1
            status += random.choice(["", " (healthy)"])
            ports = f"0.0.0.0:{port}->8080/tcp, :::{port}->8080/tcp"
            reached[container] = f"0.0.0.0:{port}->8080/tcp"
        command = random.choice([f'"/docker-entrypoint.sh {app}"', f'"{app} --on-error retry"', '"tini -- node server.js"'])
        image = f"registry.example.org/{app}:3.{number % 9}"
        cells.append([code(random, 64), image, command, f"{age} ago", status, ports, container])
    one = spread(reached, 3)[1]
    return Result("docker", name, table(cells, 3)).ask("count", "How many containers are up?", ["Up", up]).ask(
        "error", "Which containers ended with an error, and with which exit code?", *bad.items()).ask(
        "lookup", f"At which port of the host can {one} be reached?", [one, reached[one]])


ALL = [yaml, metrics, units, docker]
