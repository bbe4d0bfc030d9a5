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
 L capacity_0_4
 L capacity_0_5
 L capacity_1_0
 L capacity_1_2
 L capacity_1_3
 L capacity_1_4
 L capacity_1_5
 E reached_0_0_3
 G done_0_0_3
 E reached_1_0_2
 E reached_1_0_3
 E reached_1_0_4
 G done_1_0_2
 G stay_1_0_2
 G done_1_0_3
 G stay_1_0_3
 G done_1_0_4
 E begun_1_1_2
 E begun_1_1_3
 E begun_1_1_4
 G next_1_1_2
 G next_1_1_3
 G next_1_1_4
 E reached_1_1_4
 E reached_1_1_5
 E reached_1_1_6
 G done_1_1_4
 G stay_1_1_4
 G done_1_1_5
 G stay_1_1_5
 G done_1_1_6
COLUMNS
 MARKER0 'MARKER' 'INTORG'
 x_0_0_0_0 all_0_0 1
 x_0_0_0_0 capacity_0_0 1
 x_0_0_0_0 capacity_0_1 1
 x_0_0_0_0 reached_0_0_3 -1
 x_0_0_0_1 all_0_0 1
 x_0_0_0_1 capacity_0_1 1
 x_0_0_0_1 capacity_0_2 1
 x_0_0_1_0 all_0_0 1
 x_0_0_1_0 capacity_1_0 1
 x_0_0_1_0 capacity_1_2 1
 x_1_0_0_1 all_1_0 1
 x_1_0_0_1 capacity_0_1 1
 x_1_0_0_1 reached_1_0_2 -1
 x_1_0_0_2 all_1_0 1
 x_1_0_0_2 capacity_0_2 1
 x_1_0_0_2 reached_1_0_3 -1
 x_1_0_0_3 all_1_0 1
 x_1_0_0_3 capacity_0_3 1
 x_1_0_0_3 reached_1_0_4 -1
 x_1_0_0_4 all_1_0 1
 x_1_0_0_4 capacity_0_4 1
 x_1_1_0_2 all_1_1 1
 x_1_1_0_2 capacity_0_2 1
 x_1_1_0_2 capacity_0_3 1
 x_1_1_0_2 begun_1_1_2 -1
 x_1_1_0_2 reached_1_1_4 -1
 x_1_1_0_3 all_1_1 1
 x_1_1_0_3 capacity_0_3 1
 x_1_1_0_3 capacity_0_4 1
 x_1_1_0_3 begun_1_1_3 -1
 x_1_1_0_3 reached_1_1_5 -1
 x_1_1_0_4 all_1_1 1
 x_1_1_0_4 capacity_0_4 1
 x_1_1_0_4 capacity_0_5 1
 x_1_1_0_4 begun_1_1_4 -1
 x_1_1_0_4 reached_1_1_6 -1
 x_1_1_0_5 all_1_1 1
 x_1_1_0_5 capacity_0_5 1
 x_1_1_1_2 all_1_1 1
 x_1_1_1_2 capacity_1_2 1
 x_1_1_1_2 capacity_1_3 1
 x_1_1_1_2 begun_1_1_2 -1
 x_1_1_1_2 reached_1_1_4 -1
 x_1_1_1_3 all_1_1 1
 x_1_1_1_3 capacity_1_3 1
 x_1_1_1_3 capacity_1_4 1
 x_1_1_1_3 begun_1_1_3 -1
 x_1_1_1_3 reached_1_1_5 -1
 x_1_1_1_4 all_1_1 1
 x_1_1_1_4 capacity_1_4 1
 x_1_1_1_4 capacity_1_5 1
 x_1_1_1_4 begun_1_1_4 -1
 x_1_1_1_4 reached_1_1_6 -1
 x_1_1_1_5 all_1_1 1
 x_1_1_1_5 capacity_1_5 1
 y_0_0_3 obj -2
 y_0_0_3 done_0_0_3 -2
 y_1_0_2 done_1_0_2 -1
 y_1_0_2 stay_1_0_2 -1
 y_1_0_2 next_1_1_2 1
 y_1_0_3 stay_1_0_2 1
 y_1_0_3 done_1_0_3 -1
 y_1_0_3 stay_1_0_3 -1
 y_1_0_3 next_1_1_3 1
 y_1_0_4 stay_1_0_3 1
 y_1_0_4 done_1_0_4 -1
 y_1_0_4 next_1_1_4 1
 y_1_1_4 obj -1
 y_1_1_4 done_1_1_4 -1
 y_1_1_4 stay_1_1_4 -1
 y_1_1_5 obj -1
 y_1_1_5 stay_1_1_4 1
 y_1_1_5 done_1_1_5 -1
 y_1_1_5 stay_1_1_5 -1
 y_1_1_6 obj -1
 y_1_1_6 stay_1_1_5 1
 y_1_1_6 done_1_1_6 -1
 MARKER22 'MARKER' 'INTEND'
 A_0_0_3 reached_0_0_3 1
 A_0_0_3 done_0_0_3 1
 A_1_0_2 reached_1_0_2 1
 A_1_0_2 reached_1_0_3 -1
 A_1_0_2 done_1_0_2 1
 A_1_0_3 reached_1_0_3 1
 A_1_0_3 reached_1_0_4 -1
 A_1_0_3 done_1_0_3 1
 A_1_0_4 reached_1_0_4 1
 A_1_0_4 done_1_0_4 1
 B_1_1_2 begun_1_1_2 1
 B_1_1_2 begun_1_1_3 -1
 B_1_1_2 next_1_1_2 -1
 B_1_1_3 begun_1_1_3 1
 B_1_1_3 begun_1_1_4 -1
 B_1_1_3 next_1_1_3 -1
 B_1_1_4 begun_1_1_4 1
 B_1_1_4 next_1_1_4 -1
 A_1_1_4 reached_1_1_4 1
 A_1_1_4 reached_1_1_5 -1
 A_1_1_4 done_1_1_4 1
 A_1_1_5 reached_1_1_5 1
 A_1_1_5 reached_1_1_6 -1
 A_1_1_5 done_1_1_5 1
 A_1_1_6 reached_1_1_6 1
 A_1_1_6 done_1_1_6 1
 objective_constant obj 15
RHS
 RHS all_0_0 2
 RHS all_1_0 1
 RHS all_1_1 1
 RHS capacity_0_0 1
 RHS capacity_0_1 1
 RHS capacity_0_2 1
 RHS capacity_0_3 1
 RHS capacity_0_4 1
 RHS capacity_0_5 1
 RHS capacity_1_0 1
 RHS capacity_1_2 1
 RHS capacity_1_3 1
 RHS capacity_1_4 1
 RHS capacity_1_5 1
BOUNDS
 LO BOUND x_0_0_0_0 0
 UP BOUND x_0_0_0_0 1
 LO BOUND x_0_0_0_1 0
 UP BOUND x_0_0_0_1 1
 LO BOUND x_0_0_1_0 0
 UP BOUND x_0_0_1_0 1
 LO BOUND x_1_0_0_1 0
 UP BOUND x_1_0_0_1 1
 LO BOUND x_1_0_0_2 0
 UP BOUND x_1_0_0_2 1
 LO BOUND x_1_0_0_3 0
 UP BOUND x_1_0_0_3 1
 LO BOUND x_1_0_0_4 0
 UP BOUND x_1_0_0_4 1
 LO BOUND x_1_1_0_2 0
 UP BOUND x_1_1_0_2 1
 LO BOUND x_1_1_0_3 0
 UP BOUND x_1_1_0_3 1
 LO BOUND x_1_1_0_4 0
 UP BOUND x_1_1_0_4 1
 LO BOUND x_1_1_0_5 0
 UP BOUND x_1_1_0_5 1
 LO BOUND x_1_1_1_2 0
 UP BOUND x_1_1_1_2 1
 LO BOUND x_1_1_1_3 0
 UP BOUND x_1_1_1_3 1
 LO BOUND x_1_1_1_4 0
 UP BOUND x_1_1_1_4 1
 LO BOUND x_1_1_1_5 0
 UP BOUND x_1_1_1_5 1
 LO BOUND y_0_0_3 0
 UP BOUND y_0_0_3 1
 LO BOUND y_1_0_2 0
 UP BOUND y_1_0_2 1
 LO BOUND y_1_0_3 0
 UP BOUND y_1_0_3 1
 LO BOUND y_1_0_4 0
 UP BOUND y_1_0_4 1
 LO BOUND y_1_1_4 0
 UP BOUND y_1_1_4 1
 LO BOUND y_1_1_5 0
 UP BOUND y_1_1_5 1
 LO BOUND y_1_1_6 0
 UP BOUND y_1_1_6 1
 LO BOUND A_0_0_3 0
 UP BOUND A_0_0_3 2
 LO BOUND A_1_0_2 0
 UP BOUND A_1_0_2 1
 LO BOUND A_1_0_3 0
 UP BOUND A_1_0_3 1
 LO BOUND A_1_0_4 0
 UP BOUND A_1_0_4 1
 LO BOUND B_1_1_2 0
 UP BOUND B_1_1_2 1
 LO BOUND B_1_1_3 0
 UP BOUND B_1_1_3 1
 LO BOUND B_1_1_4 0
 UP BOUND B_1_1_4 1
 LO BOUND A_1_1_4 0
 UP BOUND A_1_1_4 1
 LO BOUND A_1_1_5 0
 UP BOUND A_1_1_5 1
 LO BOUND A_1_1_6 0
 UP BOUND A_1_1_6 1
 FX BOUND objective_constant 1
ENDATA
