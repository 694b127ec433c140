#!/bin/bash
# Tracing: the exporter accepts posts of curl, of Python and of batchjob_trace.sh, which
# runs a real process, and refuses invalid ones.  TAP; about 20 seconds.
. "$(dirname "$0")/lib.sh"

[ -x "$O/batchjob_exporter" ] || { fail "the exporter was built"; exit 1; }

post() { # body [curl option...]: prints the status
    local body=$1
    shift
    printf '%s' "$body" | curl -s -o "$tmp/body" -w '%{http_code}' \
        --data-binary @- "$@" "$url/trace"
}
get_status() { curl -s -o "$tmp/body" -w '%{http_code}' "$@"; }
traced() { value slurm_proc_pid jobid="$1" hostname="$2"; }
start() { start_exporter --path.cgroupfs="$tmp/none" "$@"; }

start
is "without trace.enabled a post is refused" "$(post '{"job_id":1}')" 404
check "without trace.enabled there are no trace metrics" shows_not slurm_proc_pid
stop "$exporter"

start --trace.enabled --trace.rate=1h --trace.entries=20
post_77() {
    post '{"job_id": 77, "pid": 4711, "cpus": 98.5,
        "write_bytes": 10, "read_bytes": 20, "threads": 3, "mem": 4096,
        "username": "anna", "hostname": "n1", "io_wait": 0.1}'
}
is "a post of curl is accepted" "$(post_77)" 200
is "the reply to a post is empty" "$(wc -c <"$tmp/body")" 0
is "a post of another host of the job is accepted" "$(post '{"job_id":77,"pid":5,"hostname":"n2"}' \
    -H 'Content-Type: application/json')" 200
cat >"$tmp/post.py" <<'END'
import json, sys, urllib.request
body = json.dumps({"job_id": 78, "pid": 6, "cpus": 12.0, "write_bytes": 0,
                   "read_bytes": 0, "threads": 1, "mem": 1.5e6,
                   "username": "bob", "hostname": "n3"}).encode()
with urllib.request.urlopen(sys.argv[1], data=body, timeout=60) as f:
    print(f.status, len(f.read()))
END
is "a post of Python is accepted" "$($python "$tmp/post.py" "$url/trace")" "200 0"
check "the page is served after the posts" scrape
is "the page has the processes by job and host" "$(traced 77 n1) $(traced 77 n2) $(traced 78 n3)" "4711 5 6"
is "the page has CPU use" "$(value slurm_proc_cpu_usage jobid=77 username=anna)" 98.5
is "the page has memory" "$(value slurm_proc_mem_usage jobid=78 username=bob)" 1500000
check "a reference parser reads the page" $prom text "$tmp/page"
check "the page is served as OpenMetrics" scrape "$tmp/om" -H 'Accept: application/openmetrics-text; version=1.0.0'
check "a reference parser reads OpenMetrics" $prom openmetrics "$tmp/om"
check "OpenMetrics has the processes" grep -q '^slurm_proc_pid{jobid="77",hostname="n1"} 4711$' "$tmp/om"
is "/trace serves a web page" "$(get_status "$url/trace")" 200
check "the web page lists the reports" grep -q '<td>77</td><td>n1</td><td>anna</td>' "$tmp/body"
is "/trace answers HEAD" "$(get_status -I "$url/trace")" 200
is "a post that is not JSON is refused" "$(post 'job_id=1')" 400
is "a post without a job is refused" "$(post '{"pid":1}')" 400
check "the reply contains the reason" grep -q job_id "$tmp/body"
is "a post that is too long is refused" "$(post "{\"job_id\":1,\"x\":\"$(head -c 9000 /dev/zero | tr '\0' x)\"}")" 413
is "PUT is refused" "$(get_status -X PUT -d x "$url/trace")" 405
codes=$(for i in $(seq 1 40); do post "{\"job_id\":$i,\"hostname\":\"many\"}" && echo; done | sort | uniq -c | tr -s ' ' | tr '\n' ' ')
check "more jobs than trace.entries are refused: $codes" grep -q 429 <<<"$codes"
stop "$exporter"

start --trace.enabled --trace.max-rate=1
$python - "$url/trace" >"$tmp/flood" <<'END'
import collections, http.client, sys, urllib.parse
u = urllib.parse.urlsplit(sys.argv[1])
c = http.client.HTTPConnection(u.hostname, u.port, timeout=60)
n = collections.Counter()
for i in range(300):
    c.request("POST", u.path, b'{"job_id":1}')
    r = c.getresponse()
    r.read()
    n[r.status] += 1
    again = r.getheader("Retry-After") or again if i else ""
print(sorted(n), again)
END
is "posts above trace.max-rate are refused" "$(cat "$tmp/flood")" "[200, 429] 1"

# --- the wrapper batchjob_trace.sh -----------------------------------------------

stop "$exporter"
start --trace.enabled --trace.rate=3
SLURM_JOB_ID=900 "$top/examples/batchjob_trace.sh" -e "${url#http://}" -r 1 \
    "$work" -t 60 -m 20 -n 3 -i 75 &
wrapped=$!
on_exit "kill_ours $wrapped"
host=$(uname -n)
at_work() { # the job has filled its memory and uses CPU time
    shows slurm_proc_cpu_usage jobid=900 hostname="$host" &&
        awk -v cpu="$(value slurm_proc_cpu_usage jobid=900)" \
            -v mem="$(value slurm_proc_mem_usage jobid=900)" \
            'BEGIN { exit !(cpu > 5 && cpu < 400 && mem > 20 * 1048576) }'
}
check "the wrapper reports CPU use and memory of its command" wait_for 60 at_work
is "the reported process is the wrapper's" "$(traced 900 "$host")" $wrapped
memory=$(value slurm_proc_mem_usage jobid=900)
near "the reported memory is that of the process" "$memory" "$(awk '$1 == "VmRSS:" { print $2 * 1024 }' /proc/$wrapped/status)" 0.05 0
check "the reported user owns the process" test "$(value slurm_proc_threadcount jobid=900 username="$(id -un)")" -ge 3
kill $wrapped
wait $wrapped
is "a signal reaches the command" $? 143
check "the report disappears after trace.rate" wait_for 60 shows_not slurm_proc_pid jobid=900
echo in | "$top/examples/batchjob_trace.sh" -e "$url" -j 901 sh -c 'read -r x; echo "$x-$1"; exit 3' . out >"$tmp/wrapped"
is "input, output and status are the command's" "$?-$(cat "$tmp/wrapped")" 3-in-out
"$top/examples/batchjob_trace.sh" -e 127.0.0.1:1 -j 902 true
is "the wrapper runs its command without an exporter" $? 0
"$top/examples/batchjob_trace.sh" -j x true 2>/dev/null
is "the wrapper refuses to run without a job id" $? 2
stop "$exporter"

# --- a token -----------------------------------------------------------------

(umask 077 && printf 's3"cret\\\n' >"$tmp/token")
start --trace.enabled --trace.token-file="$tmp/token" --trace.path=/t/race
url=$url/t/race
is "trace.path changes the path" "$(get_status "$url")" 200
is "a post without the token is refused" "$(get_status -d '{"job_id":1}' "$url")" 401
"$top/examples/batchjob_trace.sh" -e "$url" -j 903 -t "$tmp/token" sleep 600 &
wrapped=$!
on_exit "kill_ours $wrapped"
lists() { [ "$(get_status "$url")" = 200 ] && grep -q "<td>$1</td>" "$tmp/body"; }
check "a post of the wrapper contains the token" wait_for 60 lists 903
kill $wrapped
stop "$exporter"

# --- passwords -------------------------------------------------------------------

if command -v openssl >/dev/null; then
    (umask 077 && echo "basic_auth_users: {prometheus: '$(openssl passwd -6 secret)'}" >"$tmp/web.yml")
    echo 'user = "prometheus:secret"' >"$tmp/.curlrc"
    CURL_HOME=$tmp start --trace.enabled --web.config.file="$tmp/web.yml"
    is "a post needs a password if pages need one" "$(post '{"job_id":1}')" 401
    is "a post with a wrong password is refused" "$(post '{"job_id":1}' -u prometheus:secre)" 401
    is "a post with the right password is accepted" "$(post '{"job_id":1}' -u prometheus:secret)" 200
    stop "$exporter"
    CURL_HOME=$tmp start --trace.enabled --web.config.file="$tmp/web.yml" \
        --trace.token-file="$tmp/token"
    is "a post with the token is accepted" "$(post '{"job_id":1}' -H "Authorization: Bearer $(cat "$tmp/token")")" 200
    is "a post with a password is refused where a token is needed" "$(post '{"job_id":1}' -u prometheus:secret)" 401
    stop "$exporter"
else
    skip "a post needs a password if pages need one" "not installed: openssl"
fi
complete=1
