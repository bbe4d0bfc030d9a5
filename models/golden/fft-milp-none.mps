NAME fft_milp
ROWS
 N obj
 L once_0
 L once_1
 L once_2
 L once_3
 L once_4
 L once_5
 L room_0
 L room_1
COLUMNS
 MARKER0 'MARKER' 'INTORG'
 x_0_0 obj 11
 x_0_0 once_0 1
 x_0_0 room_0 2
 x_0_1 obj 18.25
 x_0_1 once_0 1
 x_0_1 room_1 2
 x_1_0 obj 17
 x_1_0 once_1 1
 x_1_0 room_0 2
 x_1_1 obj 64.25
 x_1_1 once_1 1
 x_1_1 room_1 2
 x_2_0 obj 24.5
 x_2_0 once_2 1
 x_2_0 room_0 4
 x_3_0 obj 8.25
 x_3_0 once_3 1
 x_3_0 room_0 1
 x_3_1 obj 10
 x_3_1 once_3 1
 x_3_1 room_1 1
 x_4_0 obj 4.5
 x_4_0 once_4 1
 x_4_0 room_0 1
 x_4_1 obj 8.25
 x_4_1 once_4 1
 x_4_1 room_1 1
 x_5_0 obj 8.25
 x_5_0 once_5 1
 x_5_0 room_0 2
 x_5_1 obj 8.25
 x_5_1 once_5 1
 x_5_1 room_1 2
 MARKER11 'MARKER' 'INTEND'
RHS
 RHS once_0 1
 RHS once_1 1
 RHS once_2 1
 RHS once_3 1
 RHS once_4 1
 RHS once_5 1
 RHS room_0 4
 RHS room_1 3
BOUNDS
 LO BOUND x_0_0 0
 UP BOUND x_0_0 1
 LO BOUND x_0_1 0
 UP BOUND x_0_1 1
 LO BOUND x_1_0 0
 UP BOUND x_1_0 1
 LO BOUND x_1_1 0
 UP BOUND x_1_1 1
 LO BOUND x_2_0 0
 UP BOUND x_2_0 1
 LO BOUND x_3_0 0
 UP BOUND x_3_0 1
 LO BOUND x_3_1 0
 UP BOUND x_3_1 1
 LO BOUND x_4_0 0
 UP BOUND x_4_0 1
 LO BOUND x_4_1 0
 UP BOUND x_4_1 1
 LO BOUND x_5_0 0
 UP BOUND x_5_0 1
 LO BOUND x_5_1 0
 UP BOUND x_5_1 1
ENDATA
