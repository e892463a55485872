/* Plans, warms and starts through the C interface. Without a GPU the start says so; everything else is as on one. */
#include <stdio.h>
#include <string.h>

#include "cubinet/cubinet.h"

static int complain(const char* what) {
  fprintf(stderr, "%s: %s\n", what, cubinet_last_error());
  return 1;
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  cubinet_problem problem = CUBINET_PROBLEM_INIT;
  problem.layout = CUBINET_MASKED;
  problem.n = 256;
  problem.k = 512;
  problem.groups = 4;
  problem.m_last = 64;
  cubinet_request request = CUBINET_REQUEST_INIT;
  request.problems = &problem;
  request.problem_count = 1;
  request.m_last = 64;
  request.no_generic = 1;
  cubinet_options options = CUBINET_OPTIONS_INIT;
  options.cache_root = argv[1];

  char* plan = NULL;
  if (cubinet_plan(&options, &request, &plan) != CUBINET_OK) return complain("plan");
  if (strstr(plan, "bf16_grouped_masked") == NULL) return complain("plan");
  cubinet_free(plan);
  char* report = NULL;
  if (cubinet_warmup(&options, &request, NULL, &report) != CUBINET_OK) return complain("warmup");
  cubinet_free(report);
  cubinet_cache_figures figures = CUBINET_CACHE_FIGURES_INIT;
  if (cubinet_cache_stats(&options, &figures) != CUBINET_OK) return complain("stats");
  if (figures.entries < 1) return complain("entries");

  cubinet_problem_set set = CUBINET_PROBLEM_SET_INIT;
  if (cubinet_resolve(&options, &request, &set) != CUBINET_OK) return complain("resolve");
  if (set.count != 1 || set.problems[0].n != 256 || set.gemms != NULL) return complain("problems");
  cubinet_problem_set_clear(&set);

  cubinet_service* service = NULL;
  cubinet_gemm* gemm = NULL;
  cubinet_start_report started = CUBINET_START_REPORT_INIT;
  const cubinet_status status = cubinet_start(&options, &problem, 1, &service, &gemm, &started);
  if (status == CUBINET_OK && started.missing != 0) return complain("missing");
  if (status != CUBINET_OK && status != CUBINET_DRIVER_MISSING && status != CUBINET_WRONG_DEVICE)
    return complain("start");
  printf("cubinet %s: start %s\n", cubinet_version(), cubinet_status_name(status));
  cubinet_gemm_release(gemm);
  cubinet_close(service);
  return 0;
}
