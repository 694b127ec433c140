#include "mail/template_text.h"

const char bj_mail_job_text[] = "Subject: {{title}}, {{state}}: {{verdict}}\n"
                                "\n"
                                "{{report}}\n"
                                "{{link}}\n"
                                "-- \n"
                                "{{stop}}\n";

const char bj_mail_digest_text[] = "Subject: {{title}}\n"
                                   "\n"
                                   "{{report}}\n"
                                   "{{link}}\n"
                                   "-- \n"
                                   "{{stop}}\n";

/* The style of the web pages, in colours with a contrast of at least 4.5:1 on
 * light and dark backgrounds. */
#define HEAD                                                                   \
    "<!DOCTYPE html>\n"                                                        \
    "<html lang=\"en\"><head><meta charset=\"utf-8\">\n"                       \
    "<meta name=\"viewport\" content=\"width=device-width\">\n"                \
    "<meta name=\"color-scheme\" content=\"light dark\">\n"                    \
    "<title>{{title}}</title>\n"                                               \
    "<style>\n"                                                                \
    ":root{color-scheme:light dark}\n"                                         \
    "body{margin:0;padding:1rem;font:15px/1.45 system-ui,sans-serif;"          \
    "color:#1a1a1a;background:#fff}\n"                                         \
    "main{max-width:600px;margin:0 auto}\n"                                    \
    "h1{font-size:1.3rem;margin:.2rem 0 .4rem}\n"                              \
    "h2{font-size:1.05rem;margin:1.4rem 0 .4rem}\n"                            \
    "p{margin:.3rem 0}table+p{margin-top:.8rem}\n"                             \
    "a{color:#005a9c}\n"                                                       \
    "ul{margin:.3rem 0;padding-left:1.2rem}li{margin:.3rem 0}\n"               \
    "table{border-collapse:collapse;width:100%}\n"                             \
    "th,td{padding:.3rem .6rem .3rem 0;text-align:left;vertical-align:top;"    \
    "border-bottom:1px solid #d9d9d9;overflow-wrap:anywhere}\n"                \
    "th{font-weight:normal;color:#595959}\n"                                   \
    "td.n,th.n{text-align:right;white-space:nowrap}\n"                         \
    "code{background:#f5f5f5;border:1px solid #d9d9d9;padding:.1rem .3rem;"    \
    "overflow-wrap:anywhere}\n"                                                \
    ".option{display:inline-block;max-width:100%;overflow-wrap:anywhere}\n"    \
    ".sub,.stop{color:#595959}.stop{font-size:.85rem;margin-top:1.6rem;"       \
    "border-top:1px solid #d9d9d9;padding-top:.6rem}\n"                        \
    ".verdict{border-left:.4rem solid #595959;background:#f5f5f5;"             \
    "padding:.6rem .9rem;margin:.8rem 0}\n"                                    \
    ".verdict h2{margin:0 0 .3rem}\n"                                          \
    ".critical{border-color:#9a3324}h2.critical,b.critical{color:#9a3324}\n"   \
    ".warning{border-color:#7a4b00}h2.warning,b.warning{color:#7a4b00}\n"      \
    ".info{border-color:#005a9c}b.info{color:#005a9c}\n"                       \
    ".good{border-color:#006e51}h2.good{color:#006e51}\n"                      \
    ".bar{background:#e4e4e4;height:.6rem;width:5rem;margin-top:.45rem}\n"     \
    ".bar div{background:#005a9c;height:.6rem}\n"                              \
    "img{max-width:100%;height:auto;background:#fff}\n"                        \
    "@media(max-width:30rem){.phone{display:none}.bar{width:2.6rem}}\n"        \
    "@media(prefers-color-scheme:dark){body{color:#e8e8e8;background:"         \
    "#121212}\n"                                                               \
    "a,b.info{color:#7cc4ff}.bar div{background:#7cc4ff}.bar{background:"      \
    "#3d3d3d}\n"                                                               \
    "th,td,code,.stop{border-color:#3d3d3d}th,.sub,.stop{color:#b3b3b3}\n"     \
    "code,.verdict{background:#1f1f1f}\n"                                      \
    "h2.critical,b.critical{color:#ff9a8a}.critical{border-color:#ff9a8a}\n"   \
    "h2.warning,b.warning{color:#f0b050}.warning{border-color:#f0b050}\n"      \
    "h2.good{color:#4fd0a5}.good{border-color:#4fd0a5}"                        \
    ".info{border-color:#7cc4ff}}\n"                                           \
    "</style></head>\n"                                                        \
    "<body><main>\n"                                                           \
    "<h1>{{title}}</h1>\n"

const char bj_mail_job_html[] = HEAD "<p class=\"sub\">{{about}}</p>\n"
                                     "{{report}}\n"
                                     "<p>{{link}}</p>\n"
                                     "<p class=\"stop\">{{stop}}</p>\n"
                                     "</main></body></html>\n";

const char bj_mail_digest_html[] = HEAD "{{report}}\n"
                                        "<p>{{link}}</p>\n"
                                        "<p class=\"stop\">{{stop}}</p>\n"
                                        "</main></body></html>\n";

const char bj_mail_warning_text[] = "Subject: {{title}}: {{verdict}}\n"
                                    "\n"
                                    "{{next}}\n"
                                    "\n"
                                    "{{report}}\n"
                                    "{{link}}\n"
                                    "-- \n"
                                    "{{stop}}\n";

const char bj_mail_warning_html[] = HEAD "<p class=\"sub\">{{about}}</p>\n"
                                         "<p><b>{{next}}</b></p>\n"
                                         "{{report}}\n"
                                         "<p>{{link}}</p>\n"
                                         "<p class=\"stop\">{{stop}}</p>\n"
                                         "</main></body></html>\n";
