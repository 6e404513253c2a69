/* hub_login.c: athanor hub login, logout and whoami. */
#include <signal.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "athanor/hub.h"
#include "cli/cli.h"

enum { OUTPUT_MAX = 1 << 16, TOKEN_MAX = 4096 };

/* --- whoami ------------------------------------------------------------------------------- */

static ath_status put_member(ath_buffer *out, const char *before, const char *name,
                             const char *text) {
  ATH_TRY(ath_buffer_format(out, "%s\"%s\": ", before, name));
  return ath_buffer_json(out, text, strlen(text));
}

static ath_status put_json(const ath_hub_user *user, ath_buffer *out) {
  ATH_TRY(put_member(out, "{", "name", user->name));
  ATH_TRY(put_member(out, ", ", "fullname", user->full_name));
  ATH_TRY(put_member(out, ", ", "token", user->token_name));
  ATH_TRY(put_member(out, ", ", "role", user->role));
  return ath_buffer_string(out, "}\n");
}

/* What the server sends is shown to a person: without what steers a terminal. */
static ath_status put_person(const ath_hub_user *user, ath_buffer *out) {
  ATH_TRY(ath_cli_put_visible(out, user->name, strlen(user->name)));
  if (user->role[0] != '\0') {
    ATH_TRY(ath_buffer_string(out, " (token: "));
    ATH_TRY(ath_cli_put_visible(out, user->role, strlen(user->role)));
    ATH_TRY(ath_buffer_byte(out, ')'));
  }
  return ath_buffer_byte(out, '\n');
}

static ath_status print_user(const ath_hub_user *user, const char *before, bool json) {
  ath_buffer out = ath_buffer_make(OUTPUT_MAX);
  ath_status status = json ? put_json(user, &out) : ath_buffer_string(&out, before);
  if (status == ATH_OK && !json) status = put_person(user, &out);
  if (status == ATH_OK) status = ath_cli_flush(&out);
  ath_buffer_free(&out);
  return status;
}

static ath_status run_whoami(const ath_command *self, int argc, char **argv) {
  bool json = false;
  const ath_option options[] = {
    {"json", ATH_OPTION_FLAG, &json, NULL, .help = "Print one object: name, fullname, token, role"},
    {0},
  };
  ath_operands operands;
  ath_hub_user user;
  ATH_TRY(ath_cli_parse(self, options, argc, argv, &operands));
  if (operands.done) return ATH_OK;
  ATH_TRY(ath_hub_whoami(NULL, &user));
  return print_user(&user, "", json);
}

const ath_command ath_command_hub_whoami = {
  .name = "hub whoami",
  .summary = "whose token the Hugging Face Hub is asked with",
  .details = "Example:\n  athanor hub whoami",
  .run = run_whoami,
};

/* --- login -------------------------------------------------------------------------------- */

static ath_status read_line(char out[TOKEN_MAX]) {
  const char *line;
  size_t length;
  ATH_TRY(ath_cli_read_line(&line, &length));
  if (line == NULL || length == 0) return ath_fail(ATH_USAGE, "no token came from standard input");
  if (length >= TOKEN_MAX) return ath_fail(ATH_USAGE, "what came from standard input is no token");
  memcpy(out, line, length + 1);
  return ATH_OK;
}

static struct termios as_it_was; /* the terminal, before it stopped to show what is typed */

/* Whoever gives up by Ctrl-C gets a terminal back that shows what is typed. */
static void show_and_end(int number) {
  tcsetattr(STDIN_FILENO, TCSANOW, &as_it_was);
  raise(number); /* the handler is gone by now */
}

/* Nobody should see it over a shoulder, nor in what scrolled by. */
static ath_status ask(char out[TOKEN_MAX]) {
  const struct sigaction showing = {.sa_handler = show_and_end, .sa_flags = (int)SA_RESETHAND};
  struct sigaction interrupt, end;
  fputs("Token (huggingface.co/settings/tokens; it is not shown): ", stderr);
  fflush(stderr);
  if (tcgetattr(STDIN_FILENO, &as_it_was) != 0) return read_line(out);
  struct termios hidden = as_it_was;
  hidden.c_lflag &= ~(tcflag_t)ECHO;
  sigaction(SIGINT, &showing, &interrupt);
  sigaction(SIGTERM, &showing, &end);
  tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden);
  ath_status status = read_line(out);
  tcsetattr(STDIN_FILENO, TCSAFLUSH, &as_it_was);
  sigaction(SIGINT, &interrupt, NULL);
  sigaction(SIGTERM, &end, NULL);
  fputc('\n', stderr);
  return status;
}

static ath_status run_login(const ath_command *self, int argc, char **argv) {
  const char *given = NULL;
  char token[TOKEN_MAX] = "", path[ATH_HUB_LOCAL_MAX];
  bool json = false;
  const ath_option options[] = {
    {"token", ATH_OPTION_STRING, &given, "TOKEN",
     .help = "The token itself, which others may then see in the list of processes"},
    {"json", ATH_OPTION_FLAG, &json, NULL, .help = "Print one object: name, fullname, token, role"},
    {0},
  };
  ath_operands operands;
  ath_hub_user user;
  ATH_TRY(ath_cli_parse(self, options, argc, argv, &operands));
  if (operands.done) return ATH_OK;
  if (given == NULL) {
    ATH_TRY(ath_cli_input_is_terminal() ? ask(token) : read_line(token));
    given = token;
  }
  ATH_TRY(ath_hub_login(given, &user, path));
  ATH_TRY(print_user(&user, "logged in as ", json));
  if (!json) printf("the token is kept in %s\n", path);
  return ATH_OK;
}

const ath_command ath_command_hub_login = {
  .name = "hub login",
  .summary = "keep a token for the Hugging Face Hub",
  .details =
      "The token is read from standard input, unseen at a terminal, and kept, once the Hub has\n"
      "told whose it is, where huggingface_hub looks too: $HF_TOKEN_PATH, else $HF_HOME/token,\n"
      "else ~/.cache/huggingface/token, readable for you alone. HF_TOKEN goes before it.\n\n"
      "Examples:\n"
      "  athanor hub login\n"
      "  athanor hub login < token.txt",
  .run = run_login,
};

/* --- logout ------------------------------------------------------------------------------- */

static ath_status run_logout(const ath_command *self, int argc, char **argv) {
  const ath_option options[] = {{0}};
  ath_operands operands;
  bool was;
  ATH_TRY(ath_cli_parse(self, options, argc, argv, &operands));
  if (operands.done) return ATH_OK;
  ATH_TRY(ath_hub_logout(&was));
  puts(was ? "the tokens kept here are removed" : "no token was kept here");
  return ATH_OK;
}

const ath_command ath_command_hub_logout = {
  .name = "hub logout",
  .summary = "forget the tokens for the Hugging Face Hub that are kept here",
  .details =
      "They stay valid: huggingface.co/settings/tokens revokes one. HF_TOKEN is not touched.\n\n"
      "Example:\n  athanor hub logout",
  .run = run_logout,
};
