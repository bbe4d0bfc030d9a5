NAME midpoint_lp
ROWS
 N obj
 G release_0_0
 G done_0
 G release_1_0
 G chain_1_1
 G done_1
 E load_0_0
 E load_0_1
 E load_0_2
 E load_1_0
 E load_1_1
 E load_1_2
 E load_2_0
 E load_2_1
 E load_2_2
 E load_3_0
 E load_3_1
 E load_3_2
 E load_4_0
 E load_4_1
 E load_4_2
 E load_5_0
 E load_5_1
 E load_5_2
COLUMNS
 H_0_0 release_0_0 1
 H_0_0 done_0 -1
 H_0_0 load_0_0 -4
 H_0_0 load_1_0 -4
 H_0_0 load_2_1 -4
 H_0_0 load_3_2 -4
 H_0_0 load_4_1 -4
 H_0_0 load_5_2 -4
 H_1_0 release_1_0 1
 H_1_0 chain_1_1 -1
 H_1_0 load_0_1 -1
 H_1_0 load_1_2 -1
 H_1_0 load_2_0 -1
 H_1_0 load_3_0 -1
 H_1_0 load_4_2 -1
 H_1_0 load_5_1 -1
 H_1_1 chain_1_1 1
 H_1_1 done_1 -1
 H_1_1 load_0_2 -2
 H_1_1 load_1_1 -2
 H_1_1 load_2_2 -2
 H_1_1 load_3_1 -2
 H_1_1 load_4_0 -2
 H_1_1 load_5_0 -2
 C_0 obj 2
 C_0 done_0 1
 C_1 obj 1
 C_1 done_1 1
 A_0_0 load_0_0 1
 A_0_0 load_0_1 -1
 A_0_1 load_0_1 1
 A_0_1 load_0_2 -1
 A_0_2 load_0_2 1
 A_1_0 load_1_0 1
 A_1_0 load_1_1 -1
 A_1_1 load_1_1 1
 A_1_1 load_1_2 -1
 A_1_2 load_1_2 1
 A_2_0 load_2_0 1
 A_2_0 load_2_1 -1
 A_2_1 load_2_1 1
 A_2_1 load_2_2 -1
 A_2_2 load_2_2 1
 A_3_0 load_3_0 1
 A_3_0 load_3_1 -1
 A_3_1 load_3_1 1
 A_3_1 load_3_2 -1
 A_3_2 load_3_2 1
 A_4_0 load_4_0 1
 A_4_0 load_4_1 -1
 A_4_1 load_4_1 1
 A_4_1 load_4_2 -1
 A_4_2 load_4_2 1
 A_5_0 load_5_0 1
 A_5_0 load_5_1 -1
 A_5_1 load_5_1 1
 A_5_1 load_5_2 -1
 A_5_2 load_5_2 1
RHS
 RHS release_0_0 1
 RHS done_0 2
 RHS release_1_0 1.5
 RHS chain_1_1 1.5
 RHS done_1 1
BOUNDS
 LO BOUND H_0_0 0
 PL BOUND H_0_0
 LO BOUND H_1_0 0
 PL BOUND H_1_0
 LO BOUND H_1_1 0
 PL BOUND H_1_1
 LO BOUND C_0 0
 PL BOUND C_0
 LO BOUND C_1 0
 PL BOUND C_1
 LO BOUND A_0_0 4
 PL BOUND A_0_0
 LO BOUND A_0_1 6.25
 PL BOUND A_0_1
 LO BOUND A_0_2 12.25
 PL BOUND A_0_2
 LO BOUND A_1_0 4
 PL BOUND A_1_0
 LO BOUND A_1_1 9
 PL BOUND A_1_1
 LO BOUND A_1_2 12.25
 PL BOUND A_1_2
 LO BOUND A_2_0 0.25
 PL BOUND A_2_0
 LO BOUND A_2_1 6.25
 PL BOUND A_2_1
 LO BOUND A_2_2 12.25
 PL BOUND A_2_2
 LO BOUND A_3_0 0.25
 PL BOUND A_3_0
 LO BOUND A_3_1 2.25
 PL BOUND A_3_1
 LO BOUND A_3_2 12.25
 PL BOUND A_3_2
 LO BOUND A_4_0 1
 PL BOUND A_4_0
 LO BOUND A_4_1 9
 PL BOUND A_4_1
 LO BOUND A_4_2 12.25
 PL BOUND A_4_2
 LO BOUND A_5_0 1
 PL BOUND A_5_0
 LO BOUND A_5_1 2.25
 PL BOUND A_5_1
 LO BOUND A_5_2 12.25
 PL BOUND A_5_2
ENDATA
