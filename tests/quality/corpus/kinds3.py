"""Results about servers and their sources: plans, addresses, query plans, log lines, and blame.

Made up like those of `kinds`. Statuses and levels say what failed; paths, filters and messages only sound like it.
"""

from collections import Counter
from datetime import timedelta

from base import Result
from kinds import SERVICES, START, SUBJECTS, code, pair

PEOPLE = """Anna Berg|Ben Okafor|Carla Mendes|Dmitri Volkov|Elif Kaya|Farid Haddad|Grace Lin|Henrik Dahl|Ines Moreau
Jonas Weiss|Kira Novak|Liam Byrne""".replace("\n", "|").split("|")

RESOURCES = {
    "aws_instance": ["ami", "instance_type", "key_name", "subnet_id"],
    "aws_s3_bucket": ["acl", "bucket", "force_destroy"],
    "aws_db_instance": ["allocated_storage", "engine_version", "instance_class", "identifier"],
    "aws_route53_record": ["fqdn", "records", "ttl", "zone_id"],
    "aws_cloudwatch_metric_alarm": ["alarm_description", "evaluation_periods", "threshold"],
}


@pair(network=26, region=56)
def plan(name, size, random):
    def value(attribute):
        digits = code(random, 8)
        values = {"ami": f"ami-0{digits}", "instance_type": random.choice(["t3.small", "m6i.large", "c6g.xlarge"]),
                  "key_name": "deploy", "acl": "private", "force_destroy": "false", "ttl": "300", "fqdn": f"{digits}.example.org",
                  "engine_version": f"16.{random.randint(1, 9)}", "allocated_storage": f"{random.randint(2, 90) * 10}",
                  "instance_class": random.choice(["db.t4g.small", "db.r6g.large"]), "threshold": f"{random.randint(5, 99)}",
                  "records": f"10.0.{random.randint(0, 9)}.{random.randint(2, 250)}",
                  "alarm_description": "Alarm if a check failed at 12:30", "evaluation_periods": f"{random.randint(1, 9)}"}
        plain = attribute in ("force_destroy", "allocated_storage", "ttl", "evaluation_periods", "threshold")
        return values[attribute] if plain else f'"{values.get(attribute, f"{attribute}-{digits}")}"'
    texts = {"create": "will be created", "update": "will be updated in-place", "destroy": "will be destroyed",
             "replace": "must be replaced"}
    signs, done, state, body, moved = {"create": "+", "update": "~", "destroy": "-", "replace": "-/+"}, [], "", "", {}
    words = random.sample([f"{a}_{b}" for a in ["failed_logins", "error_pages", *SUBJECTS]
                           for b in ("eu", "us", "test", "main", "old")], size)
    for number, word in enumerate(sorted(words)):
        kind = random.choice(list(RESOURCES))
        action = random.choices(list(signs) + ["keep"], [5, 4, 1, 1, 4])[0] if number > 1 else ["destroy", "replace"][number]
        address = f"{kind}.{word}"
        state += f"{address}: Refreshing state... [id={code(random, 17)}]\n" * (action != "create")
        if action == "keep":
            continue
        done.append((action, address))
        body += f"\n  # {address} {texts[action]}\n"
        body += f"  # (because {address} is not in configuration)\n" * (action == "destroy")
        body += f"{signs[action]:>3} resource \"{kind}\" \"{word}\" {{\n"
        for at, attribute in enumerate(RESOURCES[kind]):
            old, new = value(attribute), value(attribute)
            if action == "create":
                body += f"      + {attribute:18} = {new}\n"
            elif action == "destroy":
                body += f"      - {attribute:18} = {old} -> null\n"
            elif at == 1:
                while new == old:
                    new = value(attribute)
                moved[address] = action, attribute, old, new
                body += f"      ~ {attribute:18} = {old} -> {new}" + " # forces replacement" * (action == "replace") + "\n"
        body += f"      + {'id':18} = (known after apply)\n" * (action == "create")
        body += f"        # ({random.randint(3, 19)} unchanged attributes hidden)\n" * (action in ("update", "replace"))
        body += "    }\n"
    groups = (("create", "replace"), ("update",), ("destroy", "replace"))
    total = [sum(action in group for action, _ in done) for group in groups]
    text = f"""{state}
Terraform used the selected providers to generate the following execution
plan. Resource actions are indicated with the following symbols:
  + create
  ~ update in-place
  - destroy
-/+ destroy and then create replacement

Terraform will perform the following actions:
{body}
Plan: {total[0]} to add, {total[1]} to change, {total[2]} to destroy.
"""
    one = next(address for address, (action, _, old, _) in reversed(moved.items()) if action == "update" and len(old) > 6)
    _, attribute, old, new = moved[one]
    return Result("plan", name, text).ask("count", "How many resources are added, changed and destroyed?",
                                          *zip(total, ("to add", "to change", "to destroy"))).ask(
        "lookup", f"From which value to which does {attribute} of {one} change?", [one, old.strip('"'), new.strip('"')]).ask(
        "distinct", "Which resources have to be replaced?", *[[address] for action, address in done if action == "replace"][:5])


@pair(router=25, cluster=70)
def ipaddr(name, size, random):
    links = ["lo", "eth0", "eth1", "failover0", "wg0", "docker0", "eth1.120@eth1", "eth1.121@eth1", "br-" + code(random, 12)]
    links += [f"veth{code(random, 7)}@if{2 * number + 9}" for number in range(size - len(links))]
    down, jumbo = random.sample(links[6:], 2 + size // 12), random.choice(links[9:])
    text, addresses = "", {}
    for number, link in enumerate(links, 1):
        flags, state, more = "BROADCAST,MULTICAST,UP,LOWER_UP", "UP", " qlen 1000"
        queue = "mq" if link in ("eth0", "eth1") else "noqueue"
        if link in down:
            flags, state = "NO-CARRIER,BROADCAST,MULTICAST,UP", "DOWN"
        elif link in ("lo", "wg0"):
            flags, state = {"lo": "LOOPBACK,UP,LOWER_UP", "wg0": "POINTOPOINT,NOARP,UP,LOWER_UP"}[link], "UNKNOWN"
        mtu = 65536 if link == "lo" else 1420 if link == "wg0" else 9000 if link == jumbo else 1500
        if link.startswith("veth"):
            queue, more = f"noqueue master {links[8]}", ""
        mac = ":".join(["02", *(code(random, 2) for _ in range(5))]) if link != "lo" else "00:" * 5 + "00"
        text += f"{number}: {link}: <{flags}> mtu {mtu} qdisc {queue} state {state} group default{more}\n"
        if link == "wg0":
            text += "    link/none \n"
        else:
            sort, everyone = ("loopback", mac) if link == "lo" else ("ether", "ff:" * 5 + "ff")
            text += f"    link/{sort} {mac} brd {everyone}"
            text += f" link-netnsid {number}\n" if link.startswith("veth") else "\n"
        if not link.startswith("veth"):
            address = f"10.{number}.{random.randint(0, 200)}.{random.randint(2, 250)}/24"
            addresses[link] = "127.0.0.1/8" if link == "lo" else address
            scope = "host lo" if link == "lo" else f"global {link.split('@')[0]}"
            text += f"    inet {addresses[link]} scope {scope}\n       valid_lft forever preferred_lft forever\n"
        if state == "UP":
            local = f"{random.randint(4096, 65535):x}:{random.randint(16, 255):x}ff:fe{code(random, 2)}:{number}"
            text += f"    inet6 fe80::{local}/64 scope link \n"
            text += "       valid_lft forever preferred_lft forever\n"
    return Result("ipaddr", name, text).ask(
        "count", "How many interfaces have no link (state DOWN)?", ["DOWN", len(down)]).ask(
        "lookup", "Which IPv4 address does failover0 have?", ["failover0", addresses["failover0"]]).ask(
        "extreme", "Which interface has the smallest MTU, and how small is it?", ["wg0", "1420"])


@pair(reports=6, checkout=18)
def explain(name, size, random):
    def node(label, details, *children, rows=None):
        cost = sum(child[0] for child in children) + random.randint(400, 90000) / 100
        time = sum(child[1] for child in children) + random.randint(300, 40000) / 1000
        rows = rows or (children[0][3] if children else random.randint(9000, 60000))
        hit = random.randint(10, 9000)
        lines = [f"{label}  (cost={cost / 9:.2f}..{cost:.2f} rows={rows} width={random.randint(8, 120)}) "
                 f"(actual time={time / 7:.3f}..{time:.3f} rows={rows} loops=1)"]
        lines += [f"  {detail}" for detail in details] + [f"  Buffers: shared hit={hit} read={hit % 89}"]
        for _, _, (first, *others), _ in children:
            lines += [f"  ->  {first}"] + [f"      {line}" for line in others]
        return cost, time, lines, rows

    def scan(table, status):
        removed = f"Rows Removed by Filter: {random.randint(9, 90000)}"
        return node(f"Seq Scan on {table}", [f"Filter: (status {status}::text)", removed])
    text, times, disk = "", [], 0
    for number in range(size):
        table, other = (f"{word}s" for word in random.sample(SUBJECTS, 2))
        hashed = node("Hash", ["Buckets: 65536  Batches: 1  Memory Usage: 4141kB"],
                      node(f"Index Only Scan using {other}_pkey on {other}", ["Heap Fetches: 0"]))
        status = random.choice(["= 'failed'", "<> 'error'", "= 'refused'"])
        if number % 3 == 0:
            query = f"SELECT * FROM {table} JOIN {other} USING (id) WHERE {table}.status {status} ORDER BY made LIMIT 20"
            joined = node("Hash Join", [f"Hash Cond: ({table}.id = {other}.id)"], scan(table, status), hashed)
            ordered = node("Sort", [f"Sort Key: {table}.made DESC", "Sort Method: top-N heapsort  Memory: 31kB"], joined, rows=20)
            _, time, lines, _ = node("Limit", [], ordered)
        elif number % 3 == 1:
            query = f"SELECT day, sum(price) FROM {table} WHERE status {status} GROUP BY day"
            method = f"quicksort  Memory: {random.randint(60, 3000)}kB"
            if not disk:
                disk = random.randint(9000, 90000)
                method = f"external merge  Disk: {disk}kB"
            ordered = node("Sort", ["Sort Key: day", f"Sort Method: {method}"], scan(table, status))
            _, time, lines, _ = node("GroupAggregate", ["Group Key: day"], ordered, rows=random.randint(100, 900))
        else:
            query = f"SELECT * FROM {table} JOIN {other} ON {other}.id = {table}.{other[:-1]}_id WHERE day = '2024-03-01'"
            index = node(f"Bitmap Index Scan on {table}_day_idx", ["Index Cond: (day = '2024-03-01'::date)"])
            heap = node(f"Bitmap Heap Scan on {table}", ["Recheck Cond: (day = '2024-03-01'::date)",
                                                         "Heap Blocks: exact=412"], index)
            _, time, lines, _ = node("Hash Join", [f"Hash Cond: ({table}.{other[:-1]}_id = {other}.id)"], heap, hashed)
        times.append(f"{time + 0.3:.3f}")
        lines += [f"Planning Time: 0.{random.randint(100, 900)} ms", f"Execution Time: {times[-1]} ms"]
        width = max(map(len, lines)) + 2
        text += f"EXPLAIN (ANALYZE, BUFFERS) {query};\n{'QUERY PLAN'.center(width).rstrip()}\n{'-' * width}\n"
        text += "".join(f" {line}\n" for line in lines) + f"({len(lines)} rows)\n\n"
    return Result("explain", name, text).ask(
        "count", "How many sequential scans are there?", ["Seq Scan", text.count("Seq Scan")]).ask(
        "extreme", "How long did the slowest query take?", ["Execution Time", f"{max(times, key=float)} ms"]).ask(
        "lookup", "How much did the sort that did not fit into memory write to disk?", ["external merge", f"{disk}kB"])


@pair(shop=48, assets=190)
def access(name, size, random):
    agents = ["Mozilla/5.0 (X11; Linux x86_64; rv:123.0) Gecko/20100101 Firefox/123.0", "curl/8.5.0",
              "Mozilla/5.0 (compatible; ErrorBot/1.2; +https://bot.example.org/failed)"]
    addresses = [f"203.0.113.{n}" for n in random.sample(range(1, 255), 7)]
    broken, lost = random.sample(range(size), 4 + size // 20), f"/api/export/{random.randint(1000, 9999)}"
    text, clients, clock = "", Counter(), START
    for number in range(size):
        clock += timedelta(seconds=random.randint(0, 40))
        client = random.choices(addresses, [9, 2, 2, 1, 1, 1, 1])[0]
        clients[client] += 1
        path = random.choice([f"/api/{random.choice(SUBJECTS)}/{random.randint(1, 999)}", "/errors/500.html",
                              "/orders?status=failed", "/static/refused.css", f"/cart?page={random.randint(2, 40)}"])
        status = random.choices([200, 304, 404], [8, 1, 1])[0]
        if number in broken:
            path, status = (lost, 500) if number == broken[0] else (f"/api/payment/{random.randint(1, 999)}", 503)
        length = 0 if status == 304 else random.choices([503, 500, random.randint(600, 40000)], [1, 1, 8])[0]
        method = "POST" if path.startswith("/api") and number % 2 else "GET"
        text += f'{client} - - [{clock:%d/%b/%Y:%H:%M:%S} +0100] "{method} {path} HTTP/1.1" '
        text += f'{status} {length} "https://{name}.example.org/" "{random.choice(agents)}"\n'
    most, n = clients.most_common(1)[0]
    return Result("access", name, text).ask(
        "count", "How many requests were answered with status 503?", ["503", len(broken) - 1]).ask(
        "error", "Which path ended with status 500?", [lost, "500"]).ask(
        "extreme", "Which client sent the most requests, and how many?", [most, n])


@pair(gateway=70, node=260)
def journal(name, size, random):
    def message():
        hexa, n, service = code(random, 12), random.randint(2, 900), random.choice(SERVICES)
        seconds = 1709280922 + (clock - START).seconds
        return random.choice([
            ("dockerd[812]", f'level=info msg="ignoring event" container={hexa} module=libcontainerd topic=/tasks/delete'),
            ("dockerd[812]", f'level=info msg="pull done: 0 errors, {n} layers, none failed" image={service}'),
            ("NetworkManager[633]", f"<info>  [{seconds}.2201] device (veth{hexa[:7]}): state change: failed -> connected"),
            ("NetworkManager[633]", f"<warn>  [{seconds}.1172] dhcp4 (eth1): request timed out"),
            ("sshd[2217]", f"Failed password for invalid user admin from 198.51.100.{n % 250} port {n + 40000} ssh2"),
            ("postfix/smtp[990]", f"{hexa.upper()}: to=<error@example.org>, delay=0.{n}, status=sent (250 Ok, not refused)"),
            ("CRON[3011]", f"(root) CMD (/usr/local/bin/evict --failed --older {n})"),
            ("systemd[1]", f"Finished {service}-rotate.service - Rotation of {service} error logs."),
            ("systemd[1]", f"{service}-rotate.service: Deactivated successfully.")])
    bad, red = sorted(random.sample(range(size), 3 + size // 30)), random.randint(size // 3, size // 2)
    text, clock, programs, unit = "", START, Counter(), "backup-offsite.service"
    for number in range(size):
        lines = [message()]
        if number in bad:
            said = f"Handler for POST /v1.45/containers/{code(random, 12)}/start returned: port is already allocated"
            lines = [("dockerd[812]", f'level=error msg="{said}"')]
        if number == red:
            lines = [("systemd[1]", f"{unit}: Main process exited, code=exited, status=74/IOERR"),
                     ("systemd[1]", f"{unit}: Failed with result 'exit-code'."),
                     ("systemd[1]", f"Failed to start {unit} - Copy of the backups to the second site.")]
            text += f"-- Boot {code(random, 32)} --\n"
        clock += timedelta(seconds=random.randint(0, 90))
        for program, said in lines:
            programs[program.split("[")[0]] += 1
            text += f"{clock:%Y-%m-%dT%H:%M:%S}+0100 {name}-3 {program}: {said}\n"
    most, n = programs.most_common(1)[0]
    errors = sum(number != red for number in bad)
    return Result("journal", name, text).ask("count", "How many messages have the level error?", ["level=error", errors]).ask(
        "error", "Which unit failed, and with which status did its process exit?", [unit, "74/IOERR"]).ask(
        "extreme", "Which program wrote the most lines, and how many?", [most, n])


@pair(total=6, ledger=24)
def blame(name, size, random):
    authors = random.sample(PEOPLE, 4 + size // 12)
    days = random.sample(range(10, 800), size)
    commits = [(code(random, 8), random.choices(authors, [6, 3, *[1] * (len(authors) - 2)])[0],
                START - timedelta(days=day, minutes=random.randint(0, 600))) for day in days]
    functions = random.sample([f"{verb}_{word}" for verb in "sum check close retry_failed evict report_error".split()
                               for word in SUBJECTS], size)
    lines, wrote = [], {}
    for function, commit in zip(functions, commits):
        word, limit = function.split("_")[-1], random.randint(2, 99)
        wrote[function] = commit
        body = [f"def {function}({word}, limit={limit}):", f'    """Works on at most {limit} items of a {word}."""',
                "    # Checks", f"    if {word} is None:", f'        raise ValueError("{word} refused")', "    total = 0",
                f"    for item in {word}.items[:limit]:", '        if item.status == "failed" or item.time < "12:30":',
                "            continue", f"        total += item.price * {random.randint(2, 30)}",
                f'    log.info("{function}: %d errors, none fatal", total)', "    return total", "", ""]
        for at, line in enumerate(body):
            lines.append((random.choice(commits) if at and random.random() < 0.2 else commit, line))
    width, digits = max(map(len, authors)), len(str(len(lines)))
    text = "".join(f"{digest} ({author:{width}} {time:%Y-%m-%d %H:%M:%S} +0100 {number:{digits}}) {line}".rstrip() + "\n"
                   for number, ((digest, author, time), line) in enumerate(lines, 1))
    most, n = Counter(author for (_, author, _), _ in lines).most_common(1)[0]
    newest = max((commit for commit, _ in lines), key=lambda commit: commit[2])
    one = functions[size // 2]
    return Result("blame", name, text).ask("extreme", "Who wrote the most lines, and how many?", [most, n]).ask(
        "lookup", f"Who added {one}, and in which commit?", [*wrote[one][:2], f"def {one}"]).ask(
        "extreme", "Which commit made the latest change, and when?", [newest[0], f"{newest[2]:%Y-%m-%d %H:%M:%S}"])


ALL = [plan, ipaddr, explain, access, journal, blame]
