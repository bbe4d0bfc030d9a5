NAME disjunctive_milp
ROWS
 N obj
 E assign_0_0_0
 G sync_0_0_0
 E assign_0_0_1
 G sync_0_0_1
 G number_0_0_1
 E assign_1_0_0
 G sync_1_0_0
 E assign_1_1_0
 G sync_1_1_0
 G next_1_1_0
 G before_0_0_0_0_0_1_0
 G before_0_0_0_0_0_1_1
 G before_0_0_0_1_0_0_0
 G after_0_0_0_1_0_0_0
 G before_0_0_0_1_1_0_0
 G after_0_0_0_1_1_0_0
 G before_0_0_0_1_1_0_1
 G after_0_0_0_1_1_0_1
 G before_0_0_1_1_0_0_0
 G after_0_0_1_1_0_0_0
 G before_0_0_1_1_1_0_0
 G after_0_0_1_1_1_0_0
 G before_0_0_1_1_1_0_1
 G after_0_0_1_1_1_0_1
COLUMNS
 MARKER0 'MARKER' 'INTORG'
 x_0_0_0_0 assign_0_0_0 1
 x_0_0_0_0 sync_0_0_0 -3
 x_0_0_0_0 before_0_0_0_0_0_1_0 -3
 x_0_0_0_0 before_0_0_0_1_0_0_0 -2
 x_0_0_0_0 after_0_0_0_1_0_0_0 -5
 x_0_0_0_0 before_0_0_0_1_1_0_0 -1
 x_0_0_0_0 after_0_0_0_1_1_0_0 -7
 x_0_0_0_1 assign_0_0_0 1
 x_0_0_0_1 sync_0_0_0 -4
 x_0_0_0_1 before_0_0_0_0_0_1_1 -4
 x_0_0_0_1 before_0_0_0_1_1_0_1 -2
 x_0_0_0_1 after_0_0_0_1_1_0_1 -7
 x_0_0_1_0 assign_0_0_1 1
 x_0_0_1_0 sync_0_0_1 -3
 x_0_0_1_0 before_0_0_0_0_0_1_0 -3
 x_0_0_1_0 before_0_0_1_1_0_0_0 -2
 x_0_0_1_0 after_0_0_1_1_0_0_0 -5
 x_0_0_1_0 before_0_0_1_1_1_0_0 -1
 x_0_0_1_0 after_0_0_1_1_1_0_0 -7
 x_0_0_1_1 assign_0_0_1 1
 x_0_0_1_1 sync_0_0_1 -4
 x_0_0_1_1 before_0_0_0_0_0_1_1 -4
 x_0_0_1_1 before_0_0_1_1_1_0_1 -2
 x_0_0_1_1 after_0_0_1_1_1_0_1 -7
 x_1_0_0_0 assign_1_0_0 1
 x_1_0_0_0 sync_1_0_0 -1
 x_1_0_0_0 before_0_0_0_1_0_0_0 -2
 x_1_0_0_0 after_0_0_0_1_0_0_0 -5
 x_1_0_0_0 before_0_0_1_1_0_0_0 -2
 x_1_0_0_0 after_0_0_1_1_0_0_0 -5
 x_1_1_0_0 assign_1_1_0 1
 x_1_1_0_0 sync_1_1_0 -2
 x_1_1_0_0 before_0_0_0_1_1_0_0 -1
 x_1_1_0_0 after_0_0_0_1_1_0_0 -7
 x_1_1_0_0 before_0_0_1_1_1_0_0 -1
 x_1_1_0_0 after_0_0_1_1_1_0_0 -7
 x_1_1_0_1 assign_1_1_0 1
 x_1_1_0_1 sync_1_1_0 -2
 x_1_1_0_1 before_0_0_0_1_1_0_1 -2
 x_1_1_0_1 after_0_0_0_1_1_0_1 -7
 x_1_1_0_1 before_0_0_1_1_1_0_1 -2
 x_1_1_0_1 after_0_0_1_1_1_0_1 -7
 MARKER7 'MARKER' 'INTEND'
 S_0_0_0 sync_0_0_0 -1
 S_0_0_0 number_0_0_1 -1
 S_0_0_0 before_0_0_0_0_0_1_0 -1
 S_0_0_0 before_0_0_0_0_0_1_1 -1
 S_0_0_0 before_0_0_0_1_0_0_0 -1
 S_0_0_0 after_0_0_0_1_0_0_0 1
 S_0_0_0 before_0_0_0_1_1_0_0 -1
 S_0_0_0 after_0_0_0_1_1_0_0 1
 S_0_0_0 before_0_0_0_1_1_0_1 -1
 S_0_0_0 after_0_0_0_1_1_0_1 1
 S_0_0_1 sync_0_0_1 -1
 S_0_0_1 number_0_0_1 1
 S_0_0_1 before_0_0_0_0_0_1_0 1
 S_0_0_1 before_0_0_0_0_0_1_1 1
 S_0_0_1 before_0_0_1_1_0_0_0 -1
 S_0_0_1 after_0_0_1_1_0_0_0 1
 S_0_0_1 before_0_0_1_1_1_0_0 -1
 S_0_0_1 after_0_0_1_1_1_0_0 1
 S_0_0_1 before_0_0_1_1_1_0_1 -1
 S_0_0_1 after_0_0_1_1_1_0_1 1
 S_1_0_0 sync_1_0_0 -1
 S_1_0_0 before_0_0_0_1_0_0_0 1
 S_1_0_0 after_0_0_0_1_0_0_0 -1
 S_1_0_0 before_0_0_1_1_0_0_0 1
 S_1_0_0 after_0_0_1_1_0_0_0 -1
 S_1_1_0 sync_1_1_0 -1
 S_1_1_0 next_1_1_0 1
 S_1_1_0 before_0_0_0_1_1_0_0 1
 S_1_1_0 after_0_0_0_1_1_0_0 -1
 S_1_1_0 before_0_0_0_1_1_0_1 1
 S_1_1_0 after_0_0_0_1_1_0_1 -1
 S_1_1_0 before_0_0_1_1_1_0_0 1
 S_1_1_0 after_0_0_1_1_1_0_0 -1
 S_1_1_0 before_0_0_1_1_1_0_1 1
 S_1_1_0 after_0_0_1_1_1_0_1 -1
 F_0_0 obj 2
 F_0_0 sync_0_0_0 1
 F_0_0 sync_0_0_1 1
 F_1_0 sync_1_0_0 1
 F_1_0 next_1_1_0 -1
 F_1_1 obj 1
 F_1_1 sync_1_1_0 1
 MARKER14 'MARKER' 'INTORG'
 y_0_0_0_1_0_0 before_0_0_0_1_0_0_0 -2
 y_0_0_0_1_0_0 after_0_0_0_1_0_0_0 5
 y_0_0_0_1_1_0 before_0_0_0_1_1_0_0 -1
 y_0_0_0_1_1_0 after_0_0_0_1_1_0_0 7
 y_0_0_0_1_1_0 before_0_0_0_1_1_0_1 -2
 y_0_0_0_1_1_0 after_0_0_0_1_1_0_1 7
 y_0_0_1_1_0_0 before_0_0_1_1_0_0_0 -2
 y_0_0_1_1_0_0 after_0_0_1_1_0_0_0 5
 y_0_0_1_1_1_0 before_0_0_1_1_1_0_0 -1
 y_0_0_1_1_1_0 after_0_0_1_1_1_0_0 7
 y_0_0_1_1_1_0 before_0_0_1_1_1_0_1 -2
 y_0_0_1_1_1_0 after_0_0_1_1_1_0_1 7
 MARKER18 'MARKER' 'INTEND'
RHS
 RHS assign_0_0_0 1
 RHS assign_0_0_1 1
 RHS assign_1_0_0 1
 RHS assign_1_1_0 1
 RHS before_0_0_0_0_0_1_0 -4
 RHS before_0_0_0_0_0_1_1 -5
 RHS before_0_0_0_1_0_0_0 -4
 RHS after_0_0_0_1_0_0_0 -9
 RHS before_0_0_0_1_1_0_0 -1
 RHS after_0_0_0_1_1_0_0 -12
 RHS before_0_0_0_1_1_0_1 -3
 RHS after_0_0_0_1_1_0_1 -12
 RHS before_0_0_1_1_0_0_0 -4
 RHS after_0_0_1_1_0_0_0 -9
 RHS before_0_0_1_1_1_0_0 -1
 RHS after_0_0_1_1_1_0_0 -12
 RHS before_0_0_1_1_1_0_1 -3
 RHS after_0_0_1_1_1_0_1 -12
BOUNDS
 LO BOUND x_0_0_0_0 0
 UP BOUND x_0_0_0_0 1
 LO BOUND x_0_0_0_1 0
 UP BOUND x_0_0_0_1 1
 LO BOUND x_0_0_1_0 0
 UP BOUND x_0_0_1_0 1
 LO BOUND x_0_0_1_1 0
 UP BOUND x_0_0_1_1 1
 LO BOUND x_1_0_0_0 0
 UP BOUND x_1_0_0_0 1
 LO BOUND x_1_1_0_0 0
 UP BOUND x_1_1_0_0 1
 LO BOUND x_1_1_0_1 0
 UP BOUND x_1_1_0_1 1
 LO BOUND S_0_0_0 0
 UP BOUND S_0_0_0 1
 LO BOUND S_0_0_1 0
 UP BOUND S_0_0_1 1
 LO BOUND S_1_0_0 1
 UP BOUND S_1_0_0 4
 LO BOUND S_1_1_0 2
 UP BOUND S_1_1_0 5
 LO BOUND F_0_0 3
 UP BOUND F_0_0 4
 LO BOUND F_1_0 2
 UP BOUND F_1_0 5
 LO BOUND F_1_1 4
 UP BOUND F_1_1 7
 LO BOUND y_0_0_0_1_0_0 0
 UP BOUND y_0_0_0_1_0_0 1
 LO BOUND y_0_0_0_1_1_0 0
 UP BOUND y_0_0_0_1_1_0 1
 LO BOUND y_0_0_1_1_0_0 0
 UP BOUND y_0_0_1_1_0_0 1
 LO BOUND y_0_0_1_1_1_0 0
 UP BOUND y_0_0_1_1_1_0 1
ENDATA
