/* The floor: step through the columns that a digest needs with the C API of SQLite, and only add up the values.
 *
 * cc -O2 step_loop.c -lsqlite3 -o step_loop; ./step_loop TRACE
 *
 * Prints {"rows": N, "sum": N, "sqlite": VERSION}. A table that the trace does not have is passed over.
 */
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define PLACE "start, \"end\", deviceId, contextId, streamId, globalPid"
#define P "CUPTI_ACTIVITY_KIND_"

static const char *const queries[] = {
    "SELECT " PLACE ", shortName, graphNodeId FROM " P "KERNEL",
    "SELECT " PLACE " FROM " P "MEMCPY",
    "SELECT " PLACE " FROM " P "MEMSET",
    "SELECT " PLACE " FROM " P "GRAPH_TRACE",
    "SELECT start, \"end\", nameId, eventClass, globalTid FROM " P "RUNTIME",
    "SELECT start, \"end\", eventType, text, textId, domainId, globalTid FROM NVTX_EVENTS"
    " WHERE eventType IN (34, 59, 60, 70, 71, 75)",
};

int main(int argc, char **argv) {
    sqlite3 *db;
    uint64_t sum = 0;
    int64_t rows = 0;
    if (argc != 2) {
        fprintf(stderr, "usage: step_loop TRACE\n");
        return 2;
    }
    if (sqlite3_open_v2(argv[1], &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK) {
        fprintf(stderr, "step_loop: %s\n", sqlite3_errmsg(db));
        return 3;
    }
    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++) {
        sqlite3_stmt *query;
        if (sqlite3_prepare_v2(db, queries[i], -1, &query, NULL) != SQLITE_OK) {
            if (strstr(sqlite3_errmsg(db), "no such table"))
                continue;
            fprintf(stderr, "step_loop: %s\n", sqlite3_errmsg(db));
            return 3;
        }
        int columns = sqlite3_column_count(query), status;
        while ((status = sqlite3_step(query)) == SQLITE_ROW) {
            for (int c = 0; c < columns; c++) {
                if (sqlite3_column_type(query, c) == SQLITE_TEXT) {
                    const unsigned char *text = sqlite3_column_text(query, c);
                    sum += *text + (uint64_t)sqlite3_column_bytes(query, c);
                } else {
                    sum += (uint64_t)sqlite3_column_int64(query, c);
                }
            }
            rows++;
        }
        if (status != SQLITE_DONE) {
            fprintf(stderr, "step_loop: %s\n", sqlite3_errmsg(db));
            return 3;
        }
        sqlite3_finalize(query);
    }
    printf("{\"rows\": %lld, \"sum\": %llu, \"sqlite\": \"%s\"}\n", (long long)rows, (unsigned long long)sum,
           sqlite3_libversion());
    sqlite3_close(db);
    return 0;
}
