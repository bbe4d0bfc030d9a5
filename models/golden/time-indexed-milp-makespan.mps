NAME time_indexed_milp
ROWS
 N obj
 E all_0_0
 E all_1_0
 E all_1_1
 L capacity_0_0
 L capacity_0_1
 L capacity_0_2
 L capacity_0_3
 L capacity_1_0
 L capacity_1_1
 L capacity_1_2
 L capacity_1_3
 E reached_0_0_3
 E reached_0_0_4
 G done_0_0_3
 G stay_0_0_3
 G done_0_0_4
 E reached_1_0_2
 G done_1_0_2
 E begun_1_1_2
 G next_1_1_2
 E reached_1_1_4
 G done_1_1_4
 G span_0
 G span_1
COLUMNS
 MARKER0 'MARKER' 'INTORG'
 x_0_0_0_0 all_0_0 1
 x_0_0_0_0 capacity_0_0 1
 x_0_0_0_0 capacity_0_1 1
 x_0_0_0_0 reached_0_0_3 -1
 x_0_0_0_1 all_0_0 1
 x_0_0_0_1 capacity_0_1 1
 x_0_0_0_1 capacity_0_2 1
 x_0_0_0_1 reached_0_0_4 -1
 x_0_0_0_2 all_0_0 1
 x_0_0_0_2 capacity_0_2 1
 x_0_0_0_2 capacity_0_3 1
 x_0_0_1_0 all_0_0 1
 x_0_0_1_0 capacity_1_0 1
 x_0_0_1_0 capacity_1_1 1
 x_0_0_1_0 capacity_1_2 1
 x_0_0_1_0 reached_0_0_4 -1
 x_0_0_1_1 all_0_0 1
 x_0_0_1_1 capacity_1_1 1
 x_0_0_1_1 capacity_1_2 1
 x_0_0_1_1 capacity_1_3 1
 x_1_0_0_1 all_1_0 1
 x_1_0_0_1 capacity_0_1 1
 x_1_0_0_1 reached_1_0_2 -1
 x_1_0_0_2 all_1_0 1
 x_1_0_0_2 capacity_0_2 1
 x_1_1_0_2 all_1_1 1
 x_1_1_0_2 capacity_0_2 1
 x_1_1_0_2 capacity_0_3 1
 x_1_1_0_2 begun_1_1_2 -1
 x_1_1_0_2 reached_1_1_4 -1
 x_1_1_0_3 all_1_1 1
 x_1_1_0_3 capacity_0_3 1
 x_1_1_1_2 all_1_1 1
 x_1_1_1_2 capacity_1_2 1
 x_1_1_1_2 capacity_1_3 1
 x_1_1_1_2 begun_1_1_2 -1
 x_1_1_1_2 reached_1_1_4 -1
 x_1_1_1_3 all_1_1 1
 x_1_1_1_3 capacity_1_3 1
 y_0_0_3 done_0_0_3 -2
 y_0_0_3 stay_0_0_3 -1
 y_0_0_3 span_0 1
 y_0_0_4 stay_0_0_3 1
 y_0_0_4 done_0_0_4 -2
 y_0_0_4 span_0 1
 y_1_0_2 done_1_0_2 -1
 y_1_0_2 next_1_1_2 1
 y_1_1_4 done_1_1_4 -1
 y_1_1_4 span_1 1
 MARKER15 'MARKER' 'INTEND'
 Z obj 1
 Z span_0 1
 Z span_1 1
 A_0_0_3 reached_0_0_3 1
 A_0_0_3 reached_0_0_4 -1
 A_0_0_3 done_0_0_3 1
 A_0_0_4 reached_0_0_4 1
 A_0_0_4 done_0_0_4 1
 A_1_0_2 reached_1_0_2 1
 A_1_0_2 done_1_0_2 1
 B_1_1_2 begun_1_1_2 1
 B_1_1_2 next_1_1_2 -1
 A_1_1_4 reached_1_1_4 1
 A_1_1_4 done_1_1_4 1
RHS
 RHS all_0_0 2
 RHS all_1_0 1
 RHS all_1_1 1
 RHS capacity_0_0 1
 RHS capacity_0_1 1
 RHS capacity_0_2 1
 RHS capacity_0_3 1
 RHS capacity_1_0 1
 RHS capacity_1_1 1
 RHS capacity_1_2 1
 RHS capacity_1_3 1
 RHS span_0 5
 RHS span_1 5
BOUNDS
 LO BOUND x_0_0_0_0 0
 UP BOUND x_0_0_0_0 1
 LO BOUND x_0_0_0_1 0
 UP BOUND x_0_0_0_1 1
 LO BOUND x_0_0_0_2 0
 UP BOUND x_0_0_0_2 1
 LO BOUND x_0_0_1_0 0
 UP BOUND x_0_0_1_0 1
 LO BOUND x_0_0_1_1 0
 UP BOUND x_0_0_1_1 1
 LO BOUND x_1_0_0_1 0
 UP BOUND x_1_0_0_1 1
 LO BOUND x_1_0_0_2 0
 UP BOUND x_1_0_0_2 1
 LO BOUND x_1_1_0_2 0
 UP BOUND x_1_1_0_2 1
 LO BOUND x_1_1_0_3 0
 UP BOUND x_1_1_0_3 1
 LO BOUND x_1_1_1_2 0
 UP BOUND x_1_1_1_2 1
 LO BOUND x_1_1_1_3 0
 UP BOUND x_1_1_1_3 1
 LO BOUND y_0_0_3 0
 UP BOUND y_0_0_3 1
 LO BOUND y_0_0_4 0
 UP BOUND y_0_0_4 1
 LO BOUND y_1_0_2 0
 UP BOUND y_1_0_2 1
 LO BOUND y_1_1_4 0
 UP BOUND y_1_1_4 1
 LO BOUND Z 4
 PL BOUND Z
 LO BOUND A_0_0_3 0
 UP BOUND A_0_0_3 2
 LO BOUND A_0_0_4 0
 UP BOUND A_0_0_4 2
 LO BOUND A_1_0_2 0
 UP BOUND A_1_0_2 1
 LO BOUND B_1_1_2 0
 UP BOUND B_1_1_2 1
 LO BOUND A_1_1_4 0
 UP BOUND A_1_1_4 1
ENDATA
